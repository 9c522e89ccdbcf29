// What broken programs ask for is answered as CUDA does, and what is the program's own stays its own.
//~ run negative: invalid-api-use@61
//~ run negative-on-device: invalid-api-use@64
//~ run pitch: clean
//~ run rows: clean
//~ run reset: clean
//~ run free-registered: invalid-api-use@87
//~ run child: clean
//~ run inherited: clean
//~ run null-output: clean
//~ run attributes: clean
//~ run unaligned: clean
//~ run occupancy: clean
//~ run unmapped: clean
//~ run freed-early: clean
//~ run beside: clean
//~ run printing: clean
//~ prints: as it should be
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

__global__ void count(int *data, int n)
{
    int i = threadIdx.x;
    if (i < n)
        data[i] += 1;
}

__global__ void say(const char *what)
{
    printf("%c", what[0]);
}

static void *pages(size_t bytes)
{
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int told(bool right)
{
    puts(right ? "as it should be" : "wrong");
    return !right;
}

int main(int argc, char **argv)
{
    auto is = [&](const char *name) { return argc > 1 && !strcmp(argv[1], name); };
    int host[64] = {}, *device = nullptr;
    cudaMalloc(&device, 256);
    cudaMemset(device, 0, 256);
    count<<<1, 64>>>(device, 64);
    bool right = true;
    if (is("negative")) {
        right = cudaMemcpy(device, host, (size_t)-1, cudaMemcpyHostToDevice) == cudaErrorInvalidValue;
    } else if (is("negative-on-device")) {
        // From the middle: the end would be before the beginning.
        right = cudaMemcpy(device, device + 8, (size_t)-8, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue;
    } else if (is("pitch")) {
        void *rows;
        size_t pitch;
        right = cudaMallocPitch(&rows, &pitch, (size_t)-1, 2) != cudaSuccess;
    } else if (is("rows")) {
        // A billion rows in one place.
        right = cudaMemset2D(device, 0, 0, 4, 1ull << 30) != cudaSuccess;
    } else if (is("reset")) {
        int *own = (int *)malloc(10000), *there;
        for (int i = 0; i < 2500; i++) own[i] = i;
        cudaHostRegister(own, 10000, cudaHostRegisterMapped);
        cudaHostGetDevicePointer(&there, own, 0);
        count<<<1, 64>>>(there, 64);
        cudaDeviceReset();
        device = nullptr;
        for (int i = 0; i < 2500; i++) right &= own[i] == i + (i < 64);
        free(own);
    } else if (is("free-registered")) {
        int *own = (int *)malloc(10000), *there;
        own[100] = 7;
        cudaHostRegister(own, 10000, cudaHostRegisterMapped);
        cudaHostGetDevicePointer(&there, own, 0);
        right = cudaFreeHost(there) != cudaSuccess && own[100] == 7;
        cudaHostUnregister(own);
        free(own);
    } else if (is("child")) {
        // A child can't use CUDA, and says nothing of what its parent has allocated.
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            exit(cudaMalloc(&device, 4) == cudaErrorInitializationError ? 5 : 6);
        int status = 0;
        waitpid(child, &status, 0);
        right = WIFEXITED(status) && WEXITSTATUS(status) == 5;
    } else if (is("inherited")) {
        // What a child writes is its own.
        char *own = (char *)pages(65536);
        cudaHostRegister(own, 65536, cudaHostRegisterDefault);
        cudaMemcpyAsync(own, device, 256, cudaMemcpyDeviceToHost);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            own[9] = 9;
            _exit(own[9] == 9 && own[0] == 1 ? 5 : 6);
        }
        int status = 0;
        waitpid(child, &status, 0);
        right = WIFEXITED(status) && WEXITSTATUS(status) == 5;
        cudaDeviceSynchronize();
        right &= own[9] == 0 && own[0] == 1;
        cudaHostUnregister(own);
    } else if (is("null-output")) {
        // What nobody could free is not allocated.
        right = cudaMalloc(nullptr, 100) == cudaErrorInvalidValue && cudaMallocManaged((void **)nullptr, 100) == cudaErrorInvalidValue;
        cudaGetLastError();
    } else if (is("attributes")) {
        cudaLaunchConfig_t config = {};
        config.gridDim = 1, config.blockDim = 64, config.numAttrs = 3;
        int n = 64;
        right = cudaLaunchKernelEx(&config, count, device, n) == cudaErrorInvalidValue;
        cudaLaunchAttribute one[1] = {};
        config.attrs = one, config.numAttrs = 0x7fffffff;
        right &= cudaLaunchKernelEx(&config, count, device, n) == cudaErrorInvalidValue;
        cudaGetLastError();
        char id[16] = "as it was";
        right &= cudaDeviceGetPCIBusId(id, -1, 0) == cudaErrorInvalidValue && !strcmp(id, "as it was");
        cudaGetLastError();
    } else if (is("unaligned")) {
        // Structures of the program's own, wherever they lie.
        char there[sizeof(cudaFuncAttributes) + sizeof(cudaLaunchConfig_t) + 2 * sizeof(cudaLaunchAttribute)];
        cudaFuncAttributes known;
        right = cudaFuncGetAttributes((cudaFuncAttributes *)(there + 1), count) == cudaSuccess;
        memcpy(&known, there + 1, sizeof known);
        right &= known.maxThreadsPerBlock > 0;
        cudaLaunchAttribute attribute = {};
        attribute.id = cudaLaunchAttributePriority;
        memcpy(there + 1, &attribute, sizeof attribute);
        cudaLaunchConfig_t config = {};
        config.gridDim = 1, config.blockDim = 64, config.numAttrs = 1, config.attrs = (cudaLaunchAttribute *)(there + 1);
        cudaLaunchConfig_t *odd = (cudaLaunchConfig_t *)(there + 2 * sizeof attribute + 3);
        memcpy(odd, &config, sizeof config);
        int n = 64;
        void *arguments[] = {&device, &n};
        right &= cudaLaunchKernelExC(odd, (const void *)count, arguments) == cudaSuccess;
        right &= cudaMemcpy(host, device, 256, cudaMemcpyDeviceToHost) == cudaSuccess && host[63] == 2;
    } else if (is("occupancy")) {
        int blocks = -1;
        right = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, count, 64, (size_t)-1) != cudaSuccess || blocks == 0;
        cudaGetLastError();
    } else if (is("unmapped")) {
        // Memory that is gone before its registration is, and a file in its place, which stays a file.
        const size_t bytes = 65536;
        char *own = (char *)pages(bytes), name[] = "/tmp/racetrap-strangers-XXXXXX", byte = 0;
        cudaHostRegister(own, bytes, cudaHostRegisterDefault);
        cudaMemcpyAsync(own, device, 256, cudaMemcpyDeviceToHost);
        cudaDeviceSynchronize();
        munmap(own, bytes);
        int file = mkstemp(name);
        unlink(name);
        right = ftruncate(file, 8192) == 0;
        right &= mmap(own + 8192, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
        right &= cudaHostUnregister(own) == cudaSuccess;
        own[8192 + 7] = 7;
        right &= pread(file, &byte, 1, 7) == 1 && byte == 7;
    } else if (is("freed-early")) {
        // The allocator keeps its books in what was freed, with a lock that nobody may wait for who is told of that.
        std::thread([&] {
            for (int size = 1000; size < 100000; size += 7777) {
                char *own = (char *)malloc(60000), *kept[8];
                cudaHostRegister(own, 60000, cudaHostRegisterDefault);
                for (int at = 0; at < 59000; at += 2000) cudaMemcpyAsync(own + at, device, 256, cudaMemcpyDeviceToHost);
                free(own);
                for (char *&one : kept) one = (char *)malloc(size);
                for (char *one : kept) free(one);
                cudaDeviceSynchronize();
                cudaHostUnregister(own);
            }
        }).join();
    } else if (is("beside")) {
        // Another thread writes on the same page, while that becomes the device's, and is the program's again.
        char *all = (char *)pages(1 << 22); // large, so that this takes a while
        std::atomic<bool> done = false;
        bool kept = true;
        std::thread other([&] {
            volatile long *own = (volatile long *)all;
            for (long i = 1; !done; i++) {
                kept &= *own == i - 1;
                *own = i;
            }
        });
        for (int i = 0; i < 50; i++) {
            cudaHostRegister(all + 64, (1 << 22) - 64, cudaHostRegisterDefault);
            cudaMemcpyAsync(all + 64, device, 256, cudaMemcpyDeviceToHost);
            cudaDeviceSynchronize();
            cudaHostUnregister(all + 64);
        }
        done = true;
        other.join();
        right = kept;
    } else if (is("printing")) {
        // One thread prints what the device may be writing, the other one what kernels print.
        char *text;
        cudaMallocHost(&text, 4096);
        memset(text, '.', 4095), text[4095] = 0;
        std::thread other([] {
            for (int i = 0; i < 100; i++) {
                char *mine;
                cudaMalloc(&mine, 1);
                cudaMemset(mine, '.', 1);
                say<<<1, 1>>>(mine);
                cudaDeviceSynchronize();
                cudaFree(mine);
            }
        });
        for (int i = 0; i < 100; i++)
            printf("%.40s", text);
        other.join();
        puts("");
        cudaFreeHost(text);
    }
    cudaFree(device);
    return told(right);
}
