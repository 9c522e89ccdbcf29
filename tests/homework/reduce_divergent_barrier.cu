// wrong: divergent-barrier
const int BLOCK = 128;

__global__ void reduce(const float *in, float *out, int n) {
    extern __shared__ float s[];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) {
            s[t] += s[t + stride];
            __syncthreads();
        }

    }
    if (t == 0) out[blockIdx.x] = s[0];
}

void sum(const float *in, float *out, int n) {
    int blocks = (n + BLOCK - 1) / BLOCK;
    reduce<<<blocks, BLOCK, BLOCK * sizeof(float)>>>(in, out, n);
}

int main() {
    int n = 1000;
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, (n + BLOCK - 1) / BLOCK * sizeof(float));
    float *h = new float[n];
    for (int i = 0; i < n; i++) h[i] = 1.0f;
    cudaMemcpy(in, h, n * sizeof(float), cudaMemcpyHostToDevice);
    sum(in, out, n);
    cudaDeviceSynchronize();
}
