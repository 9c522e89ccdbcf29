// A bound that may be stale is read before an atomic minimum checks it again; and labels spread by atomic minima of values that may
// be old.
//
// flags: --grid 4 --block 64 --arg 0=i32[1]:const:1000 --arg 1=i32[256]:iota --arg 2=i32[256]:iota
// expect: clean

__global__ void search(int *best, const int *in, int *labels)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    int value = (in[i] * 37) % 256;
    if (value < *(volatile int *)best)
        atomicMin(best, value);
    int label = ((volatile int *)labels)[(i + 1) % 256];
    atomicMin(&labels[i], label);
}
