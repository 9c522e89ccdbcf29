// The guard compares with the number of threads, not of elements.
//
// flags: --grid 2 --block 32 --arg 0=i32[50]:iota --arg 1=50
// expect: out-of-bounds

__global__ void add_one(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < gridDim.x * blockDim.x)
        data[i] += 1; //~ out-of-bounds
}
