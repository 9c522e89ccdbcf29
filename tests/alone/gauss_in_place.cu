// wrong: data-race
// The factor of a row is read while the thread of its column makes it zero.
__global__ void eliminate(float *a, int n, int pivot)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n || i <= pivot || j < pivot)
        return;
    a[i * n + j] -= a[i * n + pivot] / a[pivot * n + pivot] * a[pivot * n + j];
}
