// One step of a reduction in global memory a launch: it reads one buffer and writes another, so no block needs what
// another one writes.
//
// flags: --grid 2 --block 64 --arg 0=i32[128]:uninitialized --arg 1=i32[256]:iota
// expect: clean

__global__ void reduce_step(int *out, const int *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + in[i + 128];
}
