// Two blocks take the same two locks in opposite orders: each may hold what the other waits for.
//
// flags: --grid 2 --block 1 --arg 0=i32[1]:zeros --arg 1=i32[2]:zeros --max-steps 20000 --schedules 24
// expect: no-progress

__device__ void take(int *lock)
{
    while (atomicCAS(lock, 0, 1) != 0) {} //~ no-progress run
    __threadfence();
}

__device__ void give_back(int *lock)
{
    __threadfence();
    atomicExch(lock, 0);
}

__global__ void transfer(int *sum, int *locks)
{
    int first = blockIdx.x;
    take(&locks[first]);
    take(&locks[1 - first]);
    *sum += 1;
    give_back(&locks[1 - first]);
    give_back(&locks[first]);
}
