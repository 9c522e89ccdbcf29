// A lock without fences protects a counter that is volatile: nothing races, and updates get lost.
//
// flags: --grid 4 --block 32 --arg 0=i32[1]:zeros --arg 1=i32[1]:zeros
// expect: unordered-communication

__global__ void count(volatile int *counter, int *lock)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {}
        *counter = *counter + 1; //~ unordered-communication#1 read write, unordered-communication#2 write
        atomicExch(lock, 0);
    }
}
