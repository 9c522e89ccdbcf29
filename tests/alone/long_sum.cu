// right
// A sum of a million numbers by two blocks: with lanes that run one by one it takes long, but it ends.
#define N (1 << 20)

__global__ void add_all(const int *x, int *sum)
{
    int mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x)
        for (int k = 0; k < 24; k++)
            mine += (x[i] >> k & 1) * k;
    atomicAdd(sum, mine);
}
