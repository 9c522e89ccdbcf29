// A sparse matrix times a vector: a warp a row, lanes stride over it, shuffles add up.
//
// flags: --grid 2 --block 64 --arg 0=f32[4]:uninitialized --arg 1=i32[5]:iota --arg 2=i32[64]:zeros --arg 3=f32[64]:iota --arg 4=f32[8]:iota
// expect: clean

__global__ void multiply(float *y, const int *__restrict__ start, const int *__restrict__ column, const float *__restrict__ value, const float *__restrict__ x)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x & 31;
    float sum = 0;
    for (int i = start[row] + lane; i < start[row + 1]; i += 32)
        sum += value[i] * x[column[i]];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0)
        y[row] = sum;
}
