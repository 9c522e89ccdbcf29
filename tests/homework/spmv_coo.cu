// right
#include <cstdio>
#include <cstdlib>
#include <vector>

// One thread for each element of a sparse matrix: coordinates and value.
__global__ void spmv_coo(int nnz, const int *row, const int *col, const float *val, const float *x, float *y) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < nnz) atomicAdd(&y[row[k]], val[k] * x[col[k]]);
}

int main() {
    const int rows = 64, per_row = 8, nnz = rows * per_row;
    std::vector<int> row(nnz), col(nnz);
    std::vector<float> val(nnz), x(rows), y(rows);
    for (int k = 0; k < nnz; k++) {
        row[k] = k / per_row;
        col[k] = rand() % rows;
        val[k] = 1.0f;
    }
    for (int i = 0; i < rows; i++) x[i] = i;
    int *d_row, *d_col;
    float *d_val, *d_x, *d_y;
    cudaMalloc(&d_row, nnz * sizeof(int));
    cudaMalloc(&d_col, nnz * sizeof(int));
    cudaMalloc(&d_val, nnz * sizeof(float));
    cudaMalloc(&d_x, rows * sizeof(float));
    cudaMalloc(&d_y, rows * sizeof(float));
    cudaMemcpy(d_row, row.data(), nnz * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(d_col, col.data(), nnz * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(d_val, val.data(), nnz * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_x, x.data(), rows * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemset(d_y, 0, rows * sizeof(float));
    spmv_coo<<<(nnz + 127) / 128, 128>>>(nnz, d_row, d_col, d_val, d_x, d_y);
    cudaMemcpy(y.data(), d_y, rows * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%f\n", y[0]);
}
