// One arrival is expected and one thread arrives for two.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:iota
// expect: mbarrier-misuse

#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void meet(int *out)
{
    __shared__ uint64_t bar;
    int t = threadIdx.x;
    if (t == 0)
        ptx::mbarrier_init(&bar, 1);
    __syncthreads();
    if (t == 0)
        ptx::mbarrier_arrive(&bar, 2); //~ mbarrier-misuse atomic
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {
    }
    out[t] += 1;
}
