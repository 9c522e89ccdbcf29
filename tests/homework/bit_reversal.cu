// right
// A loop of the host says how many bits there are; with another number, threads would write the same places.
#include <cstdlib>

__global__ void reverse_bits(const float *in, float *out, int n, int bits)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned r = 0;
    for (int b = 0; b < bits; b++)
        r = r << 1 | ((i >> b) & 1);
    out[r] = in[i];
}

void run(const float *in, float *out, int n)
{
    int bits = 0;
    while ((1 << bits) < n)
        bits++;
    reverse_bits<<<(n + 255) / 256, 256>>>(in, out, n, bits);
}

int main(int argc, char **argv)
{
    int n = atoi(argv[1]);
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemset(in, 0, n * sizeof(float));
    run(in, out, n);
    return cudaDeviceSynchronize();
}
