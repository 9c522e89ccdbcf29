// A lock whose holder writes volatile data and releases the lock without a fence: who holds it next may have its own write overtaken.
//
// flags: --grid 2 --block 1 --arg 0=u32[1]:zeros --arg 1=i32[1]:zeros
// expect: unordered-communication

__global__ void last_holder(volatile unsigned *data, int *lock)
{
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    data[0] = blockIdx.x + 1; //~ unordered-communication write
    atomicExch(lock, 0);
}
