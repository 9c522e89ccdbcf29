// The reader reads the flag and fences, as it should, but uses the value whether the flag was up or not. Where the
// writer happens to be first, all seems well.
//
// flags: --grid 2 --block 1 --arg 0=i32[2]:uninitialized --arg 1=i32[1]:zeros --arg 2=i32[1]:zeros
// expect: data-race

__global__ void pass(int *out, int *value, int *flag)
{
    if (blockIdx.x == 0) {
        *value = 7; //~ data-race#1 write
        __threadfence();
        atomicExch(flag, 1);
    } else {
        int up = atomicAdd(flag, 0);
        __threadfence();
        out[0] = *value; //~ data-race#1 read
        out[1] = up;
    }
}
