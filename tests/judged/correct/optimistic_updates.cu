// A product by compare-and-swap, which starts from a volatile load; the operation finds out whether it was old.
//
// flags: --grid 4 --block 64 --arg 0=i32[1]:const:1 --arg 1=i32[256]:iota
// expect: clean

__global__ void product(int *result, const int *in)
{
    int factor = 2 * in[blockIdx.x * 64 + threadIdx.x] + 1;
    int old = *(volatile int *)result;
    int assumed;
    do {
        assumed = old;
        old = atomicCAS(result, assumed, assumed * factor);
    } while (old != assumed);
}
