// A value is handed to another block as it should be, by fence and flag, and then read through the read-only cache.
//
// flags: --grid 2 --block 1 --arg 0=i32[1]:zeros --arg 1=i32[1]:zeros --arg 2=i32[1]:uninitialized
// expect: non-coherent-read

__global__ void hand_over(int *value, int *flag, int *out)
{
    if (blockIdx.x == 0) {
        *value = 7; //~ non-coherent-read#1 write
        __threadfence();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        *out = __ldg(value); //~ non-coherent-read#1 read
    }
}
