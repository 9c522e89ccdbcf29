// The same with data that are read and written by volatile accesses.
//
// flags: --grid 2 --block 1 --arg 0=i32[2]:uninitialized --arg 1=i32[2]:zeros --arg 2=u32[1]:zeros
// expect: clean

__global__ void share(int *out, volatile int *data, volatile unsigned *sequence)
{
    if (blockIdx.x == 0) {
        *sequence = 1;
        __threadfence();
        data[0] = 5;
        data[1] = 6;
        __threadfence();
        *sequence = 2;
    } else {
        unsigned before, after;
        do {
            before = *sequence;
            __threadfence();
            out[0] = data[0];
            out[1] = data[1];
            __threadfence();
            after = *sequence;
        } while (before != after || before % 2 == 1);
    }
}
