// A race in shared memory, in a program with host code.
//~ run bug: data-race@14,16
//~ run fixed: clean
#include <cstdio>
#include <cstring>

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorString(e)); return 2; } } while (0)

template <bool BARRIER>
__global__ void reverse(int *data, int n)
{
    extern __shared__ int tile[];
    int t = threadIdx.x;
    tile[t] = data[t];
    if (BARRIER) __syncthreads();
    data[t] = tile[n - 1 - t];
}

int main(int argc, char **argv)
{
    const int n = 64;
    int host[n], *device;
    for (int i = 0; i < n; i++) host[i] = i;
    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    if (argc > 1 && !strcmp(argv[1], "bug"))
        reverse<false><<<1, n, sizeof host>>>(device, n);
    else
        reverse<true><<<1, n, sizeof host>>>(device, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    if (argc > 1 && !strcmp(argv[1], "fixed"))
        for (int i = 0; i < n; i++)
            if (host[i] != n - 1 - i) return 3;
    return 0;
}
