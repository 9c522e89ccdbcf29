// wrong: data-race
// The barrier is after the load, so that a warp may overwrite the stage that a slower one still reads.
#define CHUNK 64

__global__ void dot_of_rows_in_stages(const float *a, const float *b, float *out, int chunks) {
    __shared__ float s[2][CHUNK];
    const float *row = a + blockIdx.x * chunks * CHUNK;
    float sum = 0;
    s[0][threadIdx.x] = row[threadIdx.x];
    for (int k = 0; k < chunks; k++) {
        if (k + 1 < chunks) s[(k + 1) % 2][threadIdx.x] = row[(k + 1) * CHUNK + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < CHUNK; j++) sum += s[k % 2][j] * b[k * CHUNK + (j + threadIdx.x) % CHUNK];
    }
    out[blockIdx.x * CHUNK + threadIdx.x] = sum;
}
