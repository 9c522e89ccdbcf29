// Whoever has the lock waits for all lanes of its warp, which wait for the lock.
//
// flags: --grid 1 --block 32 --arg 0=i32[1]:zeros --arg 1=i32[1]:zeros --max-steps 20000
// expect: no-progress

__global__ void add_up(int *sum, int *lock)
{
    while (atomicCAS(lock, 0, 1) != 0) {} //~ no-progress run
    __threadfence();
    *sum += threadIdx.x;
    __syncwarp(); //~ no-progress wait
    __threadfence();
    atomicExch(lock, 0);
}
