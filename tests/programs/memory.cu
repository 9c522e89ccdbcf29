// Every kind of memory, copied and filled in every direction.
//~ run: clean
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { printf("%d %s: %s\n", __LINE__, #call, cudaGetErrorString(e)); exit(2); } } while (0)
#define REQUIRE(x) do { if (!(x)) { printf("%d: %s\n", __LINE__, #x); exit(3); } } while (0)

__device__ int counter = 5;
__constant__ float table[4] = {1, 2, 3, 4};
__managed__ int total = 7;

__global__ void add(int *data, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += value;
}
__global__ void bump(float *out)
{
    counter++;
    total += 3;
    for (int i = 0; i < 4; i++) out[i] = table[i];
}

static void linear()
{
    const int n = 1000;
    int *a, *b, host[n];
    CHECK(cudaMalloc(&a, sizeof host));
    CHECK(cudaMalloc(&b, sizeof host));
    CHECK(cudaMemset(a, 0, sizeof host));
    add<<<4, 256>>>(a, n, 42);
    CHECK(cudaMemcpy(b, a, sizeof host, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy(host, b, sizeof host, cudaMemcpyDefault));
    for (int x : host) REQUIRE(x == 42);
    CHECK(cudaMemcpy(host, b + n - 1, 4, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(nullptr));
}

static void pitched()
{
    const int width = 100, height = 7;
    unsigned char host[height][width], back[height][width], *device;
    size_t pitch;
    for (int y = 0; y < height; y++) for (int x = 0; x < width; x++) host[y][x] = x + y;
    CHECK(cudaMallocPitch(&device, &pitch, width, height));
    REQUIRE(pitch >= width && pitch % 32 == 0);
    CHECK(cudaMemset2D(device, pitch, 9, width, height));
    CHECK(cudaMemcpy2D(device, pitch, host, width, width, height, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2D(back, width, device, pitch, width, height, cudaMemcpyDeviceToHost));
    REQUIRE(!memcmp(host, back, sizeof host));
    CHECK(cudaFree(device));

    cudaExtent extent = make_cudaExtent(40, 3, 2);
    cudaPitchedPtr volume;
    CHECK(cudaMalloc3D(&volume, extent));
    CHECK(cudaMemset3D(volume, 5, extent));
    unsigned char out[2][3][40];
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = volume;
    copy.dstPtr = make_cudaPitchedPtr(out, 40, 40, 3);
    copy.extent = extent;
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&copy));
    for (auto &plane : out) for (auto &row : plane) for (unsigned char c : row) REQUIRE(c == 5);
    CHECK(cudaFree(volume.ptr));
}

__global__ void watch(long long *out)
{
    // A clock never goes back, however long the kernel runs.
    long long before = clock64();
    for (int i = 0; i < 20000; i++) {
        long long now = clock64();
        if (now < before) *out = 1;
        before = now;
    }
}

static void registered()
{
    const int n = 512;
    int *host = (int *)malloc(n * sizeof(int)), *device;
    for (int i = 0; i < n; i++) host[i] = i;
    CHECK(cudaHostRegister(host, n * sizeof(int), cudaHostRegisterDefault));
    REQUIRE(cudaHostRegister(host + 8, 64, cudaHostRegisterDefault) == cudaErrorHostMemoryAlreadyRegistered);
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, host + 5));
    REQUIRE(attributes.type == cudaMemoryTypeHost);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaStreamAttrValue policy = {}, back = {};
    policy.syncPolicy = cudaSyncPolicyYield;
    CHECK(cudaStreamSetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &policy));
    CHECK(cudaStreamGetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &back));
    REQUIRE(back.syncPolicy == cudaSyncPolicyYield);
    CHECK(cudaMalloc(&device, n * sizeof(int)));
    CHECK(cudaMemcpyAsync(device, host, n * sizeof(int), cudaMemcpyHostToDevice, stream));
    add<<<2, 256, 0, stream>>>(device, n, 1);
    CHECK(cudaMemcpyAsync(host, device, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < n; i++) REQUIRE(host[i] == i + 1);
    CHECK(cudaHostUnregister(host));
    REQUIRE(cudaHostUnregister(host) == cudaErrorHostMemoryNotRegistered);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(device));
    free(host);

    long long *wrong, value;
    CHECK(cudaMalloc(&wrong, sizeof value));
    CHECK(cudaMemset(wrong, 0, sizeof value));
    watch<<<1, 1>>>(wrong);
    CHECK(cudaMemcpy(&value, wrong, sizeof value, cudaMemcpyDeviceToHost));
    REQUIRE(value == 0);
    CHECK(cudaFree(wrong));
}

static void variables()
{
    float *out, host[4];
    int value;
    CHECK(cudaMalloc(&out, sizeof host));
    bump<<<1, 1>>>(out);
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    REQUIRE(host[0] == 1 && host[3] == 4);
    CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    REQUIRE(value == 6);
    float other[4] = {9, 8, 7, 6};
    CHECK(cudaMemcpyToSymbol(table, other, sizeof other));
    bump<<<1, 1>>>(out);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(total == 13);
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    REQUIRE(host[0] == 9 && host[3] == 6);
    int *address;
    size_t size;
    CHECK(cudaGetSymbolAddress((void **)&address, counter));
    CHECK(cudaGetSymbolSize(&size, table));
    REQUIRE(size == sizeof table);
    CHECK(cudaMemset(address, 0, 4));
    CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    REQUIRE(value == 0);
    CHECK(cudaFree(out));
}

static void shared_with_the_host()
{
    const int n = 100;
    int *managed, *pinned, *mapped, *device;
    CHECK(cudaMallocManaged(&managed, n * sizeof(int)));
    CHECK(cudaMallocHost(&pinned, n * sizeof(int)));
    CHECK(cudaHostAlloc(&mapped, n * sizeof(int), cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&device, mapped, 0));
    for (int i = 0; i < n; i++) managed[i] = pinned[i] = mapped[i] = i;
    add<<<1, 128>>>(managed, n, 1);
    add<<<1, 128>>>(pinned, n, 2);
    add<<<1, 128>>>(device, n, 3);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) REQUIRE(managed[i] == i + 1 && pinned[i] == i + 2 && mapped[i] == i + 3);
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, managed));
    REQUIRE(attributes.type == cudaMemoryTypeManaged);
    CHECK(cudaPointerGetAttributes(&attributes, &attributes));
    REQUIRE(attributes.type == cudaMemoryTypeUnregistered);
    CHECK(cudaFree(managed));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFreeHost(mapped));
    int *pooled;
    CHECK(cudaMallocAsync(&pooled, 64, 0));
    CHECK(cudaFreeAsync(pooled, 0));
    size_t left, all;
    CHECK(cudaMemGetInfo(&left, &all));
    REQUIRE(left <= all && all > 0);
    void *much;
    REQUIRE(cudaMalloc(&much, all + 1) == cudaErrorMemoryAllocation);
    REQUIRE(cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess);
}

int main()
{
    linear();
    pitched();
    registered();
    variables();
    shared_with_the_host();
    return 0;
}
