// Each thread reads its own element through the read-only cache and then writes it: nobody else has it, and the read
// comes first.
//
// flags: --grid 2 --block 64 --arg 0=f32[128]:random
// expect: clean

__global__ void scale(float *data)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = 2.0f * __ldg(&data[i]);
}
