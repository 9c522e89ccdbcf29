// Kernels that wait for another stream's kernel, for a copy, or for the host.
//~ run flags: clean
//~ run fence-too-early: data-race@41,66
//~ run flags-first: clean
//~ run no-fence: data-race@30,52
//~ run ping-pong: clean
//~ run served: clean
//~ run served-late: data-race@90,167
//~ run served-blocks: clean
//~ run threads: clean
//~ run same-stream: no-progress@36
//~ run after-event: no-progress@36
//~ run legacy: no-progress@36
//~ run non-blocking: clean
//~ run copied-flag: clean
//~ run relayed: inconclusive
//~ run behind: clean
//~ run asked: clean
//~ run unfinished: no-progress@36 leak@114 leak@115 leak@116 leak@117
//~ prints: 0 wrong
#include <cstdio>
#include <cstring>
#include <thread>
#include <cuda_runtime.h>

__global__ void produce_unfenced(int *data, volatile int *flag, int n)
{
    int i = threadIdx.x;
    if (i < n)
        data[i] = i * i;
    __syncthreads();
    if (i == 0) *flag = 1;
}
__global__ void await(volatile int *flag)
{
    while (*flag == 0) {}
}
__global__ void produce(int *data, volatile int *flag, int n)
{
    int i = threadIdx.x;
    if (i < n) data[i] = i * i;
    __syncthreads();
    if (i == 0) {
        __threadfence();
        *flag = 1;
    }
}
__global__ void consume_unfenced(const int *data, volatile int *flag, int *out, int n)
{
    int i = threadIdx.x;
    while (*flag == 0) {}
    out[i] = data[i] + 1;
}
__global__ void consume(const int *data, volatile int *flag, int *out, int n)
{
    int i = threadIdx.x;
    while (*flag == 0) {}
    __threadfence();
    if (i < n) out[i] = data[i] + 1;
}
__global__ void consume_early(const int *data, volatile int *flag, int *out, int n)
{
    int i = threadIdx.x;
    __threadfence();
    while (*flag == 0) {}
    if (i < n) out[i] = data[i] + 1; // nothing keeps this from being read before the flag
}
__global__ void add(const int *data, int *out, int n)
{
    int i = threadIdx.x;
    if (i < n) out[i] += data[i];
}
// Takes turns with another one.
__global__ void turns(int *turn, int mine, int rounds)
{
    for (int round = 0; round < rounds; round++)
        while (atomicCAS(turn, 2 * round + mine, 2 * round + mine + 1) != 2 * round + mine) {}
}
// Serves the host: each block its own part, until it is told to stop.
__global__ void serve(volatile int *command, volatile int *answers, int *data)
{
    __shared__ int now;
    for (int round = 1;; round++) {
        if (threadIdx.x == 0) {
            do now = *command; while (now >= 0 && now < round);
            __threadfence_system();
        }
        __syncthreads();
        if (now < 0) return;
        data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence_system();
            answers[blockIdx.x] = round;
        }
    }
}

static volatile int called;
static void call(void *) { called++; }

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "served";
    auto is = [how](const char *name) { return !strcmp(how, name); };
    const int n = 64, bytes = n * sizeof(int);
    int *data, *flag, *out, *host, wrong = 0, got[n];
    cudaStream_t first, second;
    unsigned flags = is("legacy") ? cudaStreamDefault : cudaStreamNonBlocking;
    cudaStreamCreateWithFlags(&first, flags);
    cudaStreamCreateWithFlags(&second, flags);
    cudaEvent_t event;
    cudaEventCreate(&event);
    cudaMalloc(&data, bytes);
    cudaMalloc(&flag, sizeof(int));
    cudaMalloc(&out, bytes);
    cudaMallocHost(&host, 8192);
    cudaMemset(data, 0, bytes);
    cudaMemset(flag, 0, sizeof(int));
    memset(host, 0, 8192);
    cudaDeviceSynchronize();

    bool hands_over = true;
    if (is("flags")) {
        consume<<<1, n, 0, second>>>(data, flag, out, n);
        produce<<<1, n, 0, first>>>(data, flag, n);
    } else if (is("fence-too-early")) {
        consume_early<<<1, n, 0, second>>>(data, flag, out, n);
        produce<<<1, n, 0, first>>>(data, flag, n);
    } else if (is("no-fence")) {
        consume_unfenced<<<1, n, 0, second>>>(data, flag, out, n);
        produce_unfenced<<<1, n, 0, first>>>(data, flag, n);
    } else if (is("non-blocking")) { // the legacy default stream does not wait for such a stream
        consume<<<1, n, 0, second>>>(data, flag, out, n);
        produce<<<1, n>>>(data, flag, n);
    } else {
        hands_over = false;
    }
    if (hands_over) {
        cudaStreamSynchronize(second);
        cudaMemcpy(got, out, bytes, cudaMemcpyDeviceToHost);
        for (int i = 0; i < n; i++) wrong += got[i] != i * i + 1;
    }
    if (is("flags-first")) { // an event orders them, too: nobody waits
        produce<<<1, n, 0, first>>>(data, flag, n);
        cudaEventRecord(event, first);
        cudaStreamWaitEvent(second, event);
        consume<<<1, n, 0, second>>>(data, flag, out, n);
    }
    if (is("ping-pong")) {
        turns<<<1, 1, 0, first>>>(flag, 1, 50);
        turns<<<1, 1, 0, second>>>(flag, 0, 50);
        cudaDeviceSynchronize();
        cudaMemcpy(got, flag, sizeof(int), cudaMemcpyDeviceToHost);
        wrong += got[0] != 100;
    }
    if (strstr(how, "served") || is("threads")) {
        int blocks = is("served-blocks") ? 5 : 1;
        volatile int *command = host, *answers = host + 1;
        int *work = host + 1024;
        serve<<<blocks, n, 0, first>>>(command, answers, work);
        auto feed = [&] {
            for (int round = 1; round <= 20; round++) {
                for (int i = 0; i < blocks * n; i++) work[i] = round * i;
                __sync_synchronize();
                *command = round;
                            if (is("served-late")) work[3] = 7;
                for (int block = 0; block < blocks; block++)
                    while (answers[block] != round) {}
                if (!is("served-late"))
                    for (int i = 0; i < blocks * n; i++) wrong += work[i] != round * i + 1;
            }
            *command = -1;
        };
        if (is("threads")) { // this thread waits while another one feeds
            std::thread other(feed);
            cudaStreamSynchronize(first);
            other.join();
        } else
            feed();
        cudaStreamSynchronize(first);
    }
    if (is("same-stream")) {
        await<<<1, 1, 0, first>>>(flag);
        produce<<<1, n, 0, first>>>(data, flag, n);
    }
    if (is("after-event")) {
        await<<<1, 1, 0, first>>>(flag);
        cudaEventRecord(event, first);
        cudaStreamWaitEvent(second, event);
        produce<<<1, n, 0, second>>>(data, flag, n);
    }
    if (is("legacy")) { // both are blocking streams: the default stream waits for them
        await<<<1, 1, 0, first>>>(flag);
        produce<<<1, n>>>(data, flag, n);
    }
    if (is("copied-flag")) {
        host[0] = 1;
        await<<<1, 1, 0, first>>>(flag);
        cudaMemcpyAsync(flag, host, sizeof(int), cudaMemcpyHostToDevice, second);
    }
    if (is("relayed")) { // what follows a kernel that waits comes after what that one has waited for
        consume<<<1, n, 0, second>>>(data, flag, out, n);
        add<<<1, n, 0, second>>>(data, out, n);
        produce<<<1, n, 0, first>>>(data, flag, n);
    }
    if (is("behind")) { // what is issued behind a kernel that waits comes after it, in order
        await<<<1, 1, 0, first>>>(host);
        produce<<<1, n, 0, first>>>(data, flag, n);
        cudaMemcpyAsync(host + 1024, data, bytes, cudaMemcpyDeviceToHost, first);
        cudaMemsetAsync(data, 0, bytes, first);
        cudaEventRecord(event, first);
        cudaLaunchHostFunc(first, call, nullptr);
        wrong += called != 0;
        cudaStreamWaitEvent(second, event);
        cudaMemcpyAsync(host + 1124, data, bytes, cudaMemcpyDeviceToHost, second);
        *(volatile int *)host = 1;
        cudaStreamSynchronize(first);
        cudaStreamSynchronize(second);
        wrong += called != 1;
        for (int i = 0; i < n; i++) wrong += host[1024 + i] != i * i || host[1124 + i] != 0;
    }
    if (is("asked")) {
        await<<<1, 1, 0, first>>>(host);
        cudaEventRecord(event, first);
        wrong += cudaStreamQuery(first) != cudaErrorNotReady;
        wrong += cudaEventQuery(event) != cudaErrorNotReady;
        wrong += cudaStreamQuery(second) != cudaSuccess;
        *(volatile int *)host = 1;
        wrong += cudaStreamQuery(first) != cudaSuccess;
    }
    if (is("unfinished")) {
        await<<<1, 1, 0, first>>>(flag);
        printf("%d wrong\n", wrong);
        return 0;
    }
    cudaError_t error = cudaDeviceSynchronize();
    bool hangs = is("same-stream") || is("after-event") || is("legacy");
    wrong += (error != cudaSuccess) != hangs;
    if (hangs) {
        cudaDeviceReset(); // frees all
        printf("%d wrong\n", wrong);
        return wrong != 0;
    }
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
    cudaEventDestroy(event);
    cudaFree(data);
    cudaFree(flag);
    cudaFree(out);
    cudaFreeHost(host);
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
