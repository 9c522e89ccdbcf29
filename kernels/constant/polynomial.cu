// A polynomial whose coefficients lie in constant memory: all threads read the same one at a time, which is what
// constant memory is quick at.

#define DEGREE 7

__constant__ int coefficients[DEGREE + 1];

__global__ void evaluate(int *out, const int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int x = data[i];
        int sum = 0;
        for (int k = DEGREE; k >= 0; k--)
            sum = sum * x + coefficients[k]; //~[replaced-on-another-stream] data-race read
        out[i] = sum;
    }
}

/// The polynomial of the first table by one thread: 1 + 2x + 3x² + …
__global__ void evaluate_all(int *out, const int *data, int n)
{
    for (int i = 0; i < n; i++) {
        out[i] = 0;
        for (int k = DEGREE; k >= 0; k--)
            out[i] = out[i] * data[i] + k + 1;
    }
}

/// The polynomial of the second table: x².
__global__ void square_all(int *out, const int *data, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = data[i] * data[i];
}
