// A producer and a consumer on two streams.
//~ run no-event: data-race@14,19
//~ run event: clean
//~ run blocking: clean
//~ run copy-no-wait: data-race@14,45
//~ run copy-waits: clean
#include <cstdio>
#include <cstring>

__global__ void produce(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = i * i;
}
__global__ void consume(const int *data, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = data[i] + 1;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "event";
    const int n = 1000;
    int *data, *out, *host;
    cudaMalloc(&data, n * sizeof(int));
    cudaMalloc(&out, n * sizeof(int));
    cudaMallocHost(&host, n * sizeof(int));
    cudaStream_t first, second;
    unsigned flags = strcmp(how, "blocking") ? cudaStreamNonBlocking : cudaStreamDefault;
    cudaStreamCreateWithFlags(&first, flags);
    cudaStreamCreateWithFlags(&second, flags);
    cudaEvent_t done;
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);

    if (!strcmp(how, "blocking")) {
        produce<<<4, 256, 0, first>>>(data, n);
        consume<<<4, 256>>>(data, out, n); // the legacy default stream waits for blocking ones
    } else if (!strcmp(how, "copy-no-wait") || !strcmp(how, "copy-waits")) {
        produce<<<4, 256, 0, first>>>(data, n);
        cudaEventRecord(done, first);
        if (!strcmp(how, "copy-waits"))
            cudaStreamWaitEvent(second, done);
        cudaMemcpyAsync(host, data, n * sizeof(int), cudaMemcpyDeviceToHost, second);
    } else {
        produce<<<4, 256, 0, first>>>(data, n);
        cudaEventRecord(done, first);
        if (!strcmp(how, "event")) cudaStreamWaitEvent(second, done);
        consume<<<4, 256, 0, second>>>(data, out, n);
    }
    cudaDeviceSynchronize();
    cudaEventDestroy(done);
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
    cudaFree(data);
    cudaFree(out);
    cudaFreeHost(host);
    return cudaGetLastError();
}
