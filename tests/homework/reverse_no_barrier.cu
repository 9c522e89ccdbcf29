// wrong: data-race
#define N 256

__global__ void reverse(int *d) {
    __shared__ int s[N];
    int t = threadIdx.x;
    s[t] = d[t];
    d[t] = s[N - 1 - t];
}

int main() {
    int h[N];
    for (int i = 0; i < N; i++) h[i] = i;
    int *d;
    cudaMalloc(&d, N * sizeof(int));
    cudaMemcpy(d, h, N * sizeof(int), cudaMemcpyHostToDevice);
    reverse<<<1, N>>>(d);
    cudaMemcpy(h, d, N * sizeof(int), cudaMemcpyDeviceToHost);
}
