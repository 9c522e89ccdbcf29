// Memory of the host that is registered: kernels and host see the same bytes, also when it is the host's alone again.
// What the host does to it too early is found, as it is in pinned memory.
//~ run : clean
//~ run beyond: out-of-bounds@27
//~ run result-early: data-race@79,80
//~ run result-waited: clean
//~ run source-overwritten: data-race@85,86
//~ run source-beside: clean
//~ run mapped-early: data-race@27,92
//~ run mapped-waited: clean
//~ run large-early: data-race@99,100
//~ run neighbours: clean
//~ run system-early: data-race@116,118
//~ run again: clean
//~ prints: 0 values differ
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <vector>

// One line of a kernel for all of them.
__global__ void add(int *data, int value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] += value;
}

static int both_see(bool beyond)
{
    const int n = 5000;
    int *all = (int *)malloc((n + 100) * sizeof(int)), differ = 0;
    int *host = all + 50, *device; // amid other data
    for (int i = 0; i < n + 100; i++)
        all[i] = i;
    cudaHostRegister(host, n * sizeof(int), cudaHostRegisterMapped);
    cudaHostGetDevicePointer(&device, host, 0);
    add<<<20, 256>>>(device, 1, n);
    cudaDeviceSynchronize();
    for (int i = 0; i < n + 100; i++)
        differ += all[i] != i + (i >= 50 && i < n + 50);
    host[7] = 1000; // seen by the next kernel
    add<<<20, 256>>>(device, 1, beyond ? n + 1 : n);
    cudaDeviceSynchronize();
    differ += host[7] != 1001 || host[8] != 60;
    cudaHostUnregister(host);
    differ += host[7] != 1001 || all[0] != 0;
    free(all);
    return beyond ? 0 : differ;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    auto is = [how](const char *name) { return !strcmp(how, name); };
    if (is("") || is("beyond")) {
        printf("%d values differ\n", both_see(is("beyond")));
        return cudaGetLastError();
    }
    const int n = 4096, bytes = n * sizeof(int);
    int *host, *data, *device, differ = 0;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMalloc(&data, bytes);
    cudaMemset(data, 0, bytes);
    add<<<16, 256>>>(data, 0, n);
    cudaDeviceSynchronize();
    host = (int *)mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(host, 0, bytes);
    cudaHostRegister(host, bytes, cudaHostRegisterDefault);
    if (strstr(how, "result")) {
        add<<<16, 256, 0, stream>>>(data, 5, n);
        if (is("result-waited")) {
            cudaMemcpyAsync(host, data, bytes, cudaMemcpyDeviceToHost, stream);
            cudaStreamSynchronize(stream);
            differ += host[9] != 5;
        } else {
            cudaMemcpyAsync(host, data, bytes, cudaMemcpyDeviceToHost, stream);
            differ += host[9] != 5;
        }
    }
    if (strstr(how, "source")) {
        int at = is("source-beside") ? 200 : 7; // on the same page in any case
        cudaMemcpyAsync(data, host, 400, cudaMemcpyHostToDevice, stream);
        host[at] = 1;
        cudaStreamSynchronize(stream);
    }
    if (strstr(how, "mapped")) {
        cudaHostGetDevicePointer(&device, host, 0);
        add<<<16, 256, 0, stream>>>(device, 5, n);
        if (is("mapped-early")) differ += host[2] != 5;
        cudaStreamSynchronize(stream);
        differ += host[3] != 5;
    }
    if (is("large-early")) { // the C library maps large memory, which begins amid a page
        std::vector<int> large(1 << 18);
        cudaHostRegister(large.data(), large.size() * sizeof(int), 0);
        cudaMemcpyAsync(large.data(), data, bytes, cudaMemcpyDeviceToHost, stream);
        differ += large[0] != 0;
        cudaStreamSynchronize(stream);
        cudaHostUnregister(large.data());
    }
    if (is("neighbours")) { // other data on the same pages is nobody's business
        char *all = (char *)malloc(100);
        memset(all, 1, 100);
        cudaHostRegister(all + 20, 40, 0);
        cudaMemcpyAsync(all + 20, data, 40, cudaMemcpyDeviceToHost, stream);
        differ += all[19] != 1 || all[60] != 1;
        free(malloc(50));
        cudaStreamSynchronize(stream);
        differ += all[20] != 0;
        cudaHostUnregister(all + 20);
    }
    if (is("system-early")) { // the system writes the program's memory
        cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, stream);
        FILE *file = fopen("/dev/zero", "rb");
        differ += fread(host, 1, bytes, file) != bytes;
        fclose(file);
    }
    if (is("again")) // the same memory, time after time
        for (int round = 0; round < 50; round++) {
            cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, stream);
            add<<<16, 256, 0, stream>>>(data, 1, n);
            cudaMemcpyAsync(host, data, bytes, cudaMemcpyDeviceToHost, stream);
            cudaStreamSynchronize(stream);
            differ += host[n - 1] != round + 1;
            cudaHostUnregister(host);
            host[0] = round + 1;
            cudaHostRegister(host, bytes, cudaHostRegisterDefault);
        }
    cudaDeviceSynchronize();
    cudaHostUnregister(host);
    cudaFree(data);
    munmap(host, bytes);
    cudaStreamDestroy(stream);
    printf("%d values differ\n", differ);
    return cudaGetLastError();
}
