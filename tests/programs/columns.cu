// Each thread adds up a column of its own in shared memory, in place: what a turn stores, the next one loads.
//~ run: clean
//~ prints: 32 sums, 0 wrong
#include <cstdio>

__global__ void add_up(int *out, int rows)
{
    extern __shared__ int cells[];
    int t = threadIdx.x, width = blockDim.x;
    for (int i = 0; i <= rows; i++)
        cells[i * width + t] = i == 0 ? t : 1;
    for (int i = 1; i <= rows; i++)
        cells[i * width + t] += cells[(i - 1) * width + t];
    for (int i = 0; i <= rows; i++)
        out[i * width + t] = cells[i * width + t];
}

int main()
{
    const int rows = 32, width = 32;
    static int host[(rows + 1) * width];
    int *out, wrong = 0;
    cudaMalloc(&out, sizeof host);
    add_up<<<1, width, sizeof host>>>(out, rows);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i <= rows; i++)
        for (int t = 0; t < width; t++)
            wrong += host[i * width + t] != t + i;
    printf("%d sums, %d wrong\n", rows, wrong);
    cudaFree(out);
    return 0;
}
