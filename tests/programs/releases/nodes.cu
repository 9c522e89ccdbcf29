// Relocatable device code of two files, and a kernel that launches a kernel: by `cudaLaunchDeviceV2` in CUDA 11, by `__cudaCDP2LaunchDeviceV2`
// since CUDA 12. `pin.sh` keeps what three releases of nvcc make of both files' device code; `nodes.c` has the rest, as `groups.c` does.
//~ with releases/twice.cu
//~ nvcc -rdc=true -gencode arch=compute_75,code=compute_75
//~ run : clean
//~ run race: data-race@17
//~ prints: 64 visits
#include "nvcc.h"

#ifdef __CUDACC__
extern __device__ int visits;
extern __device__ int twice(int);

extern "C" __global__ void leaf(const int *from, int *to, int race)
{
    int t = threadIdx.x;
    to[race ? t / 2 : t] = twice(from[63 - t]);
}

extern "C" __global__ void root(int *data, int *to, int race)
{
    int t = threadIdx.x;
    data[t] = t;
    __syncthreads();
    if (t == 0)
        leaf<<<1, 64>>>(data, to, race);
}
#endif

int main(int argc, char **argv)
{
    int race = argc > 1 && strcmp(argv[1], "race") == 0, back[64], count = 0, sum = 0, *data, *to;
    OK(cudaMalloc((void **)&data, sizeof back));
    OK(cudaMalloc((void **)&to, sizeof back));
    OK(cudaMemset(to, 0, sizeof back));
    LAUNCH(root, 1, 64, data, to, race);
    OK(cudaMemcpy(back, to, sizeof back, cudaMemcpyDeviceToHost));
    OK(cudaMemcpyFromSymbol(&count, (const void *)&visits, sizeof count, 0, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        sum += back[i];
    TRUE(count == 64 && (sum == 2 * 2016 || race));
    printf("%d visits\n", count);
    OK(cudaFree(data));
    OK(cudaFree(to));
    return 0;
}
