// right
struct Particle { float x, y, z; float speed[3]; int cell; };

__global__ void step(Particle *p, int *cells, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    p[i].x += p[i].speed[0] * dt;
    p[i].cell = i % 8;
    atomicAdd(&cells[p[i].cell], 1);
}

int main() {
    int n = 300;
    Particle *p;
    int *cells;
    cudaMalloc(&p, n * sizeof(Particle));
    cudaMalloc(&cells, 8 * sizeof(int));
    cudaMemset(p, 0, n * sizeof(Particle));
    cudaMemset(cells, 0, 8 * sizeof(int));
    step<<<(n + 63) / 64, 64>>>(p, cells, n, 0.01f);
    cudaDeviceSynchronize();
}
