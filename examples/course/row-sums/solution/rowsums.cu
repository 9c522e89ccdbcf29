// Sums of a matrix's rows: `rowsums MATRIX ROWS COLUMNS SUMS`.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define THREADS 64

// One block a row.
__global__ void row_sums(const int *matrix, int *sums, int columns)
{
    __shared__ int partial[THREADS];
    int t = threadIdx.x, sum = 0;
    for (int column = t; column < columns; column += THREADS)
        sum += matrix[blockIdx.x * columns + column];
    partial[t] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half)
            partial[t] += partial[t + half];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = partial[0];
}

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(error));
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    int rows = atoi(argv[2]), columns = atoi(argv[3]);
    std::vector<int> matrix(rows * columns), sums(rows);
    FILE *in = fopen(argv[1], "rb");
    if (!in || fread(matrix.data(), sizeof(int), matrix.size(), in) != matrix.size())
        return 2;
    fclose(in);

    int *device_matrix, *device_sums;
    check(cudaMalloc(&device_matrix, matrix.size() * sizeof(int)));
    check(cudaMalloc(&device_sums, rows * sizeof(int)));
    check(cudaMemcpy(device_matrix, matrix.data(), matrix.size() * sizeof(int), cudaMemcpyHostToDevice));
    row_sums<<<rows, THREADS>>>(device_matrix, device_sums, columns);
    check(cudaGetLastError());
    check(cudaMemcpy(sums.data(), device_sums, rows * sizeof(int), cudaMemcpyDeviceToHost));
    check(cudaFree(device_matrix));
    check(cudaFree(device_sums));

    FILE *out = fopen(argv[4], "wb");
    if (!out || fwrite(sums.data(), sizeof(int), rows, out) != sums.size())
        return 2;
    fclose(out);
    printf("%d rows\n", rows);
    return 0;
}
