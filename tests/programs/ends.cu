// Programs that end in their own ways; what was found until then is told all the same.
//~ run exit 7: data-race@15 status=1
//~ run abort: data-race@15 status=1
//~ run _exit: data-race@15 status=1
//~ run clean 7: clean status=7
//~ run nothing: inconclusive status=3
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

__global__ void race(int *sum)
{
    if (threadIdx.x < 64)
        *sum += threadIdx.x;
}
__global__ void fine(int *sum) { atomicAdd(sum, 1); }

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "exit";
    if (!strcmp(how, "nothing")) return 0;
    int *sum;
    cudaMalloc(&sum, sizeof *sum);
    cudaMemset(sum, 0, sizeof *sum);
    if (!strcmp(how, "clean")) {
        fine<<<1, 64>>>(sum);
        cudaFree(sum);
        return atoi(argv[2]);
    }
    race<<<1, 64>>>(sum);
    cudaFree(sum);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "_exit")) _exit(0);
    return argc > 2 ? atoi(argv[2]) : 0;
}
