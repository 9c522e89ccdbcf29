// Jacobi steps in one cooperative launch, which read what the step before has written through the read-only cache.
//
// flags: --cooperative --grid 2 --block 32 --arg 0=f32[64]:random --arg 1=f32[64]:uninitialized
// expect: non-coherent-read

#include <cooperative_groups.h>

__global__ void relax(float *a, float *b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int step = 0; step < 4; step++) {
        const float *from = step % 2 ? b : a;
        float *to = step % 2 ? a : b;
        float left = __ldg(&from[i > 0 ? i - 1 : 0]); //~ non-coherent-read#1 read
        float right = __ldg(&from[i < 63 ? i + 1 : 63]); //~ non-coherent-read#2 read
        to[i] = 0.5f * (left + right); //~ non-coherent-read#1 write, non-coherent-read#2 write
        cooperative_groups::this_grid().sync();
    }
}
