// wrong: data-race
// Both threads of a pair exchange it.
__global__ void step(int *x, int j, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;
    int a = x[i], b = x[other];
    if (((i & k) == 0) == (a > b)) {
        x[i] = b;
        x[other] = a;
    }
}
