// right
#define W 48
#define H 96

__global__ void transpose(const int *in, int *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[x * height + y] = in[y * width + x];
}

int main() {
    int *in, *out;
    cudaMallocManaged(&in, W * H * sizeof(int));
    cudaMallocManaged(&out, W * H * sizeof(int));
    for (int i = 0; i < W * H; i++) in[i] = i;
    transpose<<<dim3(W / 16, H / 16), dim3(16, 16)>>>(in, out, W, H);
    cudaDeviceSynchronize();
}
