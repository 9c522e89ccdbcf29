// What only some orders of threads show: the run that the program goes on with is clean, another one of the same launch is not.
//~ run waits: clean
//~ run forgets: data-race@18,28
#include <cstdio>
#include <cstring>

// The block that counts last adds up what the others have left.
__global__ void last_block(const int *in, int *part, unsigned *done, int *out, bool forgets)
{
    __shared__ int sum;
    __shared__ bool last;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        part[blockIdx.x] = sum;
        if (!forgets || blockIdx.x != gridDim.x - 1)
            __threadfence(); // without it: wrong wherever this block is not the last one to count
        last = atomicAdd(done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        __threadfence();
        int all = 0;
        for (unsigned i = 0; i < gridDim.x; i++)
            all += part[i];
        *out = all;
    }
}

int main(int argc, char **argv)
{
    const int blocks = 4, threads = 64, n = blocks * threads;
    int host[n], *in, *part, *out, sum = 0, result = 0;
    unsigned *done;
    for (int i = 0; i < n; i++)
        sum += host[i] = i;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&part, blocks * sizeof(int));
    cudaMalloc(&done, sizeof(unsigned));
    cudaMalloc(&out, sizeof(int));
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemset(done, 0, sizeof(unsigned));
    last_block<<<blocks, threads>>>(in, part, done, out, argc > 1 && !strcmp(argv[1], "forgets"));
    cudaMemcpy(&result, out, sizeof(int), cudaMemcpyDeviceToHost);
    cudaMemcpy(host, in, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++)
        sum -= host[i] - i; // other runs must leave no trace
    cudaFree(in);
    cudaFree(part);
    cudaFree(done);
    cudaFree(out);
    return result != sum;
}
