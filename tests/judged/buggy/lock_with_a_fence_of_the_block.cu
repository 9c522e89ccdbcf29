// A lock between blocks whose fences reach the block alone.
//
// flags: --grid 2 --block 1 --arg 0=u32[1]:zeros --arg 1=i32[1]:zeros
// expect: insufficient-scope

__global__ void last_holder(volatile unsigned *data, int *lock)
{
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence_block();
    data[0] = blockIdx.x + 1; //~ insufficient-scope write
    __threadfence_block();
    atomicExch(lock, 0);
}
