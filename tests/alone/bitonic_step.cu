// right
__global__ void step(int *x, int j, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;
    if (other > i) {
        int a = x[i], b = x[other];
        if (((i & k) == 0) == (a > b)) {
            x[i] = b;
            x[other] = a;
        }
    }
}
