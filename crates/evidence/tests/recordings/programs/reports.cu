// Small programs that let compute-sanitizer say what no case of the catalogue makes it say: one program for each name below.
// `record.sh` runs them.
#include <cassert>
#include <cstdio>
#include <cstring>

constexpr int threads = 64;

__global__ void misaligned_global(int *out) {
    auto *bytes = reinterpret_cast<char *>(out);
    *reinterpret_cast<int *>(bytes + threadIdx.x + 1) = 1;
}

__global__ void misaligned_shared(int *out) {
    __shared__ int tile[threads + 1];
    tile[threadIdx.x] = threadIdx.x;
    auto *bytes = reinterpret_cast<char *>(tile);
    out[threadIdx.x] = *reinterpret_cast<int *>(bytes + out[0] + 2);
}

__global__ void shared_out_of_bounds(int *out) {
    extern __shared__ int tile[];
    tile[threadIdx.x + out[0] + 40000] = 1;
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void null_pointer(int *out) {
    *reinterpret_cast<int *>(static_cast<size_t>(out[threadIdx.x])) = 1;
}

__global__ void atomic_out_of_bounds(int *out) { atomicAdd(out + (1 << 28), 1); }

__global__ void write_one(int *out) { out[threadIdx.x] = 1; }

__global__ void traps(int *out) {
    out[threadIdx.x] = 1;
    __trap();
}

__global__ void asserts(int *out) { assert(out[threadIdx.x] == 7); }

__global__ void frees_twice(int *out) {
    int *memory = static_cast<int *>(malloc(16));
    out[0] = memory != nullptr;
    free(memory);
    free(memory);
}

__device__ __noinline__ int deep(int n, int *out) {
    volatile int frame[64];
    for (int i = 0; i < 64; i++) frame[i] = out[i] + n;
    return n == 0 ? frame[out[0]] : deep(n - 1, out) + frame[n & 63];
}

__global__ void overflows_its_stack(int *out) { out[threadIdx.x] = deep(out[0] + (1 << 20), out); }

__global__ void never_ends(int *out) {
    while (atomicAdd(out, 0) == 0) {
    }
}

__global__ void warp_barrier_without_itself(int *out) {
    if (threadIdx.x < 2) {
        __syncwarp(out[0] + 2);
    }
    out[threadIdx.x] = 1;
}

__global__ void mbarrier_not_initialised(int *out) {
    __shared__ unsigned long long barrier;
    unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
    unsigned long long token;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(address) : "memory");
        out[0] = static_cast<int>(token);
    }
}

__global__ void read_before_write(int *out) {
    __shared__ int tile[threads];
    tile[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = tile[threads - 1 - threadIdx.x];
}

__global__ void write_after_read(int *out) {
    __shared__ int tile[threads];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    int other = tile[threads - 1 - threadIdx.x];
    tile[threadIdx.x] = other + 1;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void write_after_write(int *out) {
    __shared__ int sum;
    sum = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = sum;
}

__global__ void asynchronous_copy_not_awaited(int *out) {
    __shared__ int tile[threads];
    unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(tile + threadIdx.x));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address), "l"(out + threadIdx.x) : "memory");
    int other = tile[threadIdx.x];
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[threadIdx.x] = other;
}

#define KERNEL(name) {#name, name}

struct Program {
    const char *name;
    void (*kernel)(int *);
};

const Program programs[] = {
    KERNEL(misaligned_global), KERNEL(misaligned_shared), KERNEL(shared_out_of_bounds), KERNEL(null_pointer),
    KERNEL(atomic_out_of_bounds), KERNEL(write_one), KERNEL(traps), KERNEL(asserts), KERNEL(frees_twice),
    KERNEL(overflows_its_stack), KERNEL(never_ends), KERNEL(warp_barrier_without_itself),
    KERNEL(mbarrier_not_initialised), KERNEL(read_before_write), KERNEL(write_after_read), KERNEL(write_after_write),
    KERNEL(asynchronous_copy_not_awaited),
};

int finish(const char *what, cudaError_t error) {
    printf("%s: %s\n", what, cudaGetErrorName(error));
    return error == cudaSuccess ? 0 : 1;
}

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "";
    if (!strcmp(name, "no_call")) {
        printf("no call of CUDA\n");
        return 0;
    }
    if (!strcmp(name, "leaves_with_7")) return 7;
    int *out;
    cudaError_t error = cudaMalloc(&out, 4096);
    if (error != cudaSuccess) return finish("cudaMalloc", error);
    cudaMemset(out, 0, 4096);
    if (!strcmp(name, "after_free")) {
        cudaFree(out);
        write_one<<<1, threads>>>(out);
        return finish(name, cudaDeviceSynchronize());
    }
    if (!strcmp(name, "frees_what_is_no_allocation")) return finish(name, cudaFree(out + 1));
    if (!strcmp(name, "too_many_threads")) {
        write_one<<<1, 2000>>>(out);
        return finish(name, cudaGetLastError());
    }
    if (!strcmp(name, "leaks")) {
        write_one<<<1, threads>>>(out);
        return finish(name, cudaDeviceSynchronize());
    }
    if (!strcmp(name, "copies_too_much")) {
        static char host[1 << 16];
        return finish(name, cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    }
    for (const Program &program : programs) {
        if (strcmp(name, program.name)) continue;
        program.kernel<<<1, threads>>>(out);
        error = cudaGetLastError();
        if (error != cudaSuccess) return finish("launch", error);
        printf("launched %s\n", name);
        fflush(stdout);
        error = cudaDeviceSynchronize();
        int status = finish(name, error);
        cudaFree(out);
        return status;
    }
    fprintf(stderr, "no program %s\n", name);
    return 2;
}
