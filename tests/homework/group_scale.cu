// right
// Sizes are multiplied: guesses for them have to stay small together.
#include <cstdlib>

__global__ void scale(float *out, const float *in, int N, int C, int H, int W, int G)
{
    int hw = H * W, per_group = C / G, n = blockIdx.x, g = blockIdx.y;
    if (n >= N || g >= G)
        return;
    for (int i = threadIdx.x; i < per_group * hw; i += blockDim.x) {
        int c = g * per_group + i / hw;
        int at = n * C * hw + c * hw + i % hw;
        out[at] = in[at] * 2;
    }
}

void run(float *out, const float *in, int N, int C, int H, int W, int G)
{
    dim3 blocks(N, G);
    scale<<<blocks, 256>>>(out, in, N, C, H, W, G);
}

int main(int argc, char **argv)
{
    int size[5];
    for (int i = 0; i < 5; i++)
        size[i] = atoi(argv[i + 1]);
    size_t bytes = sizeof(float) * size[0] * size[1] * size[2] * size[3];
    float *in, *out;
    cudaMalloc(&in, bytes);
    cudaMalloc(&out, bytes);
    cudaMemset(in, 0, bytes);
    run(out, in, size[0], size[1], size[2], size[3], size[4]);
    return cudaDeviceSynchronize();
}
