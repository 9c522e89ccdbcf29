// What the host itself does to memory that work of the device uses meanwhile.
//~ run result-early: data-race@51,52
//~ run result-waited: clean
//~ run result-polled: clean
//~ run source-overwritten: data-race@61,62
//~ run source-read: clean
//~ run mapped-early: data-race@22,69
//~ run mapped-waited: clean
//~ run managed-early: data-race@22,77
//~ run managed-other-half: clean
//~ run flag: clean
//~ run callback: clean
//~ run memset: clean
//~ run chunks: clean
//~ run written-early: data-race@22,113
//~ run read-beside: clean
#include <cstdio>
#include <cstring>
__global__ void produce(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = i * i;
}
__global__ void publish(volatile int *data, volatile int *flag)
{
    data[0] = 7;
    __threadfence_system();
    flag[0] = 1;
}
static volatile int called;
static void tell(void *) { called = 1; }

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "result-waited";
    auto is = [how](const char *name) { return !strcmp(how, name); };
    const int n = 1000, bytes = n * sizeof(int);
    int *data, *host, *managed, wrong = 0;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMalloc(&data, bytes);
    cudaMallocHost(&host, 2 * bytes);
    cudaMallocManaged(&managed, 2 * bytes);
    cudaMemset(data, 0, bytes);
    memset(host, 0, 2 * bytes);
    memset(managed, 0, 2 * bytes);
    produce<<<1, 1>>>(data, 0);
    cudaDeviceSynchronize();
    if (strstr(how, "result")) {
        produce<<<4, 256, 0, stream>>>(data, n);
        cudaMemcpyAsync(host, data, bytes, cudaMemcpyDeviceToHost, stream);
        if (is("result-early")) wrong += host[3] != 9;
        if (is("result-polled"))
            while (cudaStreamQuery(stream) == cudaErrorNotReady) {}
        else
            cudaStreamSynchronize(stream);
        for (int i = 0; i < n; i++) wrong += host[i] != i * i;
        host[5] = 1;
    }
    if (strstr(how, "source")) {
        cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, stream);
        if (is("source-overwritten")) host[7] = 1;
        wrong += host[8];         // reading what is copied is no conflict
        host[n + 1] = 5;          // nor is writing beside it, on the same page
        wrong += host[n + 1] != 5;
    }
    if (strstr(how, "mapped")) {
        produce<<<4, 256>>>(host, n);
        if (is("mapped-early")) wrong += host[2] != 4;
        cudaDeviceSynchronize();
        wrong += host[4] != 16;
    }
    if (strstr(how, "managed")) {
        produce<<<4, 256>>>(managed, n);
        for (int i = n; i < 2 * n; i++) managed[i] = i;
        for (int i = n; i < 2 * n; i++) wrong += managed[i] != i;
        if (is("managed-early")) wrong += managed[9] != 81;
        cudaDeviceSynchronize();
        for (int i = 0; i < n; i++) wrong += managed[i] != i * i;
    }
    if (is("flag")) {
        volatile int *flag = host;
        publish<<<1, 1>>>(host + 1, host);
        while (!*flag) {}
        wrong += host[1] != 7; // the flag was written behind it
    }
    if (is("callback")) {
        cudaMemcpyAsync(host, data, bytes, cudaMemcpyDeviceToHost, stream);
        cudaLaunchHostFunc(stream, tell, nullptr);
        while (!called) {}
        wrong += host[0] != host[0];
    }
    if (is("memset")) {
        cudaMemset(managed, 1, bytes); // waits, for it is memory of the host, too
        wrong += managed[0] != 0x01010101;
    }
    if (is("chunks")) // each chunk is filled while the one before, on the same page, is copied
        for (int from = 0; from < n; from += 100) {
            for (int i = from; i < from + 100; i++) host[i] = i;
            cudaMemcpyAsync(data + from, host + from, 100 * sizeof(int), cudaMemcpyHostToDevice, stream);
        }
    FILE *file = tmpfile(); // the system reads and writes the program's memory
    if (is("read-beside")) {
        for (int i = 0; i < n; i++) fwrite(&i, sizeof i, 1, file);
        rewind(file);
        cudaMemcpyAsync(data, host, 100 * sizeof(int), cudaMemcpyHostToDevice, stream);
        wrong += fread(host + 100, sizeof(int), n, file) != n;
        wrong += host[100 + 700] != 700;
    }
    if (is("written-early")) {
        produce<<<4, 256, 0, stream>>>(host, n);
        setvbuf(file, nullptr, _IONBF, 0);
        wrong += fwrite(host, sizeof(int), n, file) != n;
    }
    fclose(file);
    cudaDeviceSynchronize();
    cudaStreamDestroy(stream);
    cudaFree(data);
    cudaFree(managed);
    cudaFreeHost(host);
    if (wrong) printf("%d wrong\n", wrong);
    return wrong != 0;
}
