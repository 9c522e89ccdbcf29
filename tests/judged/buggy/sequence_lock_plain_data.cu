// A sequence lock: the reader reads the data between two looks at the sequence number and tries again if
// that has changed. The number is handled well, but the data are read while they may be written.
//
// flags: --grid 2 --block 1 --arg 0=i32[2]:uninitialized --arg 1=i32[2]:zeros --arg 2=u32[1]:zeros
// expect: data-race

__global__ void share(int *out, int *data, volatile unsigned *sequence)
{
    if (blockIdx.x == 0) {
        *sequence = 1;
        __threadfence();
        data[0] = 5; //~ data-race#1 write
        data[1] = 6; //~ data-race#2 write
        __threadfence();
        *sequence = 2;
    } else {
        unsigned before, after;
        do {
            before = *sequence;
            __threadfence();
            out[0] = data[0]; //~ data-race#1 read
            out[1] = data[1]; //~ data-race#2 read
            __threadfence();
            after = *sequence;
        } while (before != after || before % 2 == 1);
    }
}
