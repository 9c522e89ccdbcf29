// What broken programs ask for is answered as CUDA does, and what is the program's own stays its own.
//~ run negative: invalid-api-use@38
//~ run negative-on-device: invalid-api-use@41
//~ run pitch: clean
//~ run rows: clean
//~ run reset: clean
//~ run free-registered: invalid-api-use@64
//~ run child: clean
//~ prints: as it should be
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

__global__ void count(int *data, int n)
{
    int i = threadIdx.x;
    if (i < n)
        data[i] += 1;
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
    }
    cudaFree(device);
    return told(right);
}
