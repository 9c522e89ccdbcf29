// right
// The block is a template argument that the host chooses among several: each instance has its own launch.
#include <cstdlib>

template <int Threads>
__global__ void sum(const float *in, float *out)
{
    __shared__ float s[Threads];
    s[threadIdx.x] = in[blockIdx.x * Threads + threadIdx.x];
    __syncthreads();
    for (int half = Threads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            s[threadIdx.x] += s[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = s[0];
}

int main(int argc, char **argv)
{
    const int n = 1024;
    int threads = atoi(argv[1]);
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemset(in, 0, n * sizeof(float));
    switch (threads) {
    case 256:
        sum<256><<<n / 256, 256>>>(in, out);
        break;
    }
    return cudaDeviceSynchronize();
}
