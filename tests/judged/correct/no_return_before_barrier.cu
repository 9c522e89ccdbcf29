// The threads beyond the end have no work, and come to the barrier all the same.
//
// flags: --grid 1 --block 64 --arg 0=i32[50]:iota --arg 1=50
// expect: clean

__global__ void reverse(int *data, int n)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t < n)
        tile[t] = data[t];
    __syncthreads();
    if (t < n)
        data[t] = tile[n - 1 - t];
}
