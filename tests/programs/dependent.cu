// Programmatic dependent launches: the second kernel may begin when the first has executed its trigger.
//~ nvcc -arch=sm_90
//~ on sm_90 waits: clean
//~ on sm_90 meets: clean
//~ on sm_90 ordinary: clean
//~ on sm_90 host: clean
//~ on sm_90 copied: clean
//~ on sm_90 forgets: missing-dependency-wait@18,28
//~ on sm_90 late: missing-dependency-wait@18,28
//~ on sm_90 alone: missing-dependency-wait@18,28
//~ on sm_90 overwrites: missing-dependency-wait@17,32
#include <cstdio>
#include <cstring>

__global__ void first(const int *in, int *p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, value = in[i];
    cudaTriggerProgrammaticLaunchCompletion(); p[i] = value;
}

__global__ void second(int *in, const int *p, int *q, bool each, bool one, bool late, bool overwrites)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (each || one && threadIdx.x == 0)
        cudaGridDependencySynchronize();
    if (one && !late)
        __syncthreads(); // all come behind the thread that has waited
    int value = overwrites ? 0 : p[i];
    if (late && !one)
        cudaGridDependencySynchronize();
    q[i] = value;
    if (overwrites) in[i] = 0;
}

int main(int argc, char **argv)
{
    auto is = [&](const char *what) { return argc > 1 && !strcmp(argv[1], what); };
    const int blocks = 4, threads = 64, n = blocks * threads;
    int *in, *p, *q, host[n], wrong = 0;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&p, sizeof host);
    cudaMalloc(&q, sizeof host);
    for (int i = 0; i < n; i++)
        host[i] = i;
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    first<<<blocks, threads>>>(in, p);
    if (is("host"))
        cudaDeviceSynchronize();
    if (is("copied"))
        cudaMemcpyAsync(q, p, sizeof host, cudaMemcpyDeviceToDevice);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t how = {};
    how.gridDim = blocks;
    how.blockDim = threads;
    how.attrs = &attribute;
    how.numAttrs = is("ordinary") ? 0 : 1;
    bool each = is("waits"), one = is("meets") || is("alone"), late = is("late") || is("alone");
    cudaLaunchKernelEx(&how, second, in, (const int *)p, q, each, one, late, is("overwrites"));
    cudaMemcpy(host, q, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++)
        wrong += host[i] != i;
    cudaFree(in);
    cudaFree(p);
    cudaFree(q);
    return wrong && !is("overwrites");
}
