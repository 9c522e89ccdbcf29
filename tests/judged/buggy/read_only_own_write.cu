// The thread that wrote reads the old value, too.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota --arg 1=i32[32]:uninitialized
// expect: non-coherent-read

__global__ void increment(int *data, int *out)
{
    int t = threadIdx.x;
    volatile int *word = data;
    word[t] = t; //~ non-coherent-read#1 write
    out[t] = __ldg(&data[t]); //~ non-coherent-read#1 read
}
