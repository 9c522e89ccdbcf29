// Two groups, and the wait leaves the newest one out: the block ends while its copy may still read.
//
// flags: --grid 1 --block 32 --arg 0=i32[64]:uninitialized
// expect: async-copy-hazard

#include <cuda/ptx>
namespace ptx = cuda::ptx;

__global__ void count(int *out)
{
    __shared__ alignas(16) int tile[2][32];
    int t = threadIdx.x;
    tile[0][t] = t;
    tile[1][t] = 32 + t;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncwarp();
    if (t == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, tile[0], sizeof tile[0]);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + 32, tile[1], sizeof tile[1]); //~ async-copy-hazard#1 copy
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<1>());
    }
} //~ async-copy-hazard#1 exit
