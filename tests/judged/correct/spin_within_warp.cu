// Lanes wait for a flag that a lane of their own warp raises. Since Volta it gets its turn.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:uninitialized
// expect: clean

__global__ void pass(int *out)
{
    __shared__ int value;
    __shared__ volatile int flag;
    int lane = threadIdx.x;
    if (lane == 0)
        flag = 0;
    __syncwarp();
    if (lane == 31) {
        value = 42;
        __threadfence_block();
        flag = 1;
    } else {
        while (flag == 0) {}
        __threadfence_block();
    }
    out[lane] = value;
}
