// Matrix product c = a · b from global memory, one thread an element of c. Row-major; a is m × k, b is k × n.
//
// The threads are laid out in x and y, and so must the launch be: `dim3 block(16, 16)`. In `dim3 block = (16, 16)` the
// comma is an operator, its value the second number alone, and the block one row of 16 threads; the grid likewise.

__global__ void matmul(float *c, const float *a, const float *b, int m, int k, int n)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && column < n) {
        float sum = 0;
        for (int e = 0; e < k; e++)
            sum += a[row * k + e] * b[e * n + column];
        c[row * n + column] = sum; //~[comma-operator] wrong-result
    }
}
