// Two blocks count in one word by atomics whose scope is the block.
//
// flags: --grid 2 --block 32 --arg 0=i32[1]:zeros
// expect: insufficient-scope

__global__ void count(int *counter)
{
    atomicAdd_block(counter, 1); //~ insufficient-scope atomic
}
