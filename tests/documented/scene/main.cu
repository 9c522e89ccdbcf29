// The launch of a kernel that is in another file, and a kernel that calls a function of a third one.
__device__ int twice(int x);
__global__ void scan(int *data, int n);

__global__ void double_all(int *data)
{
    data[threadIdx.x] = twice(data[threadIdx.x]);
}

void launch(int *data)
{
    double_all<<<1, 1000>>>(data);
    scan<<<4, 256>>>(data, 1000);
}
