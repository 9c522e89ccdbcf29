/* A stand-in for the CUDA driver: as much of `libcuda.so.1` as `racetrap-device` calls, with host memory for the GPU's.
 *
 * It tests the process around the driver, not the driver: memory, parameters, order of calls, what is printed, how errors
 * come back. A "kernel" is known by its name:
 *   add      adds its second parameter (int) to each int of the first (buffer); its third is their number
 *   print    prints its parameter (int)
 *   fault    leaves the context in CUDA_ERROR_ILLEGAL_ADDRESS, found when somebody waits
 *   memory   prints how many allocations there are
 *   hang     never ends
 *   crash    ends the process by a signal
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INVALID_VALUE = 1, NO_DEVICE = 100, INVALID_PTX = 218, OLD = 222, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700 };

static unsigned broken, pending;
static int allocations, opted_in;
static const char *const kernels[] = {"add", "print", "fault", "hang", "crash", "memory", 0};

unsigned cuInit(unsigned flags) { return getenv("STAND_IN_NO_DEVICE") ? NO_DEVICE : 0; }
unsigned cuDriverGetVersion(int *v) { *v = 13000; return 0; }
unsigned cuDeviceGet(int *d, int n) { *d = 0; return 0; }
unsigned cuDeviceGetName(char *name, int n, int d) { snprintf(name, n, "stand-in"); return 0; }
unsigned cuDeviceGetAttribute(int *v, unsigned a, int d) { *v = a == 75 ? 9 : 0; return 0; }
unsigned cuDevicePrimaryCtxRetain(void **c, int d) { *c = &broken; return 0; }
unsigned cuDevicePrimaryCtxRelease_v2(int d) { return 0; }
unsigned cuCtxSetCurrent(void *c) { return 0; }
unsigned cuGetErrorString(unsigned e, const char **s) { *s = "?"; return 0; }

unsigned cuGetErrorName(unsigned e, const char **s)
{
    switch (e) {
    case 0: *s = "CUDA_SUCCESS"; return 0;
    case INVALID_VALUE: *s = "CUDA_ERROR_INVALID_VALUE"; return 0;
    case NO_DEVICE: *s = "CUDA_ERROR_NO_DEVICE"; return 0;
    case INVALID_PTX: *s = "CUDA_ERROR_INVALID_PTX"; return 0;
    case OLD: *s = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"; return 0;
    case NOT_FOUND: *s = "CUDA_ERROR_NOT_FOUND"; return 0;
    case ILLEGAL_ADDRESS: *s = "CUDA_ERROR_ILLEGAL_ADDRESS"; return 0;
    default: *s = 0; return INVALID_VALUE;
    }
}

unsigned cuCtxSynchronize(void)
{
    if (pending)
        broken = pending;
    return broken;
}
unsigned cuStreamSynchronize(void *s) { return cuCtxSynchronize(); }
unsigned cuStreamCreate(void **s, unsigned flags) { *s = malloc(1); return flags == 1 ? broken : INVALID_VALUE; }
unsigned cuStreamDestroy_v2(void *s) { free(s); return broken; }
unsigned cuStreamWaitEvent(void *s, void *e, unsigned flags) { return broken; }
unsigned cuEventCreate(void **e, unsigned flags) { *e = malloc(1); return broken; }
unsigned cuEventDestroy_v2(void *e) { free(e); return broken; }
unsigned cuEventRecord(void *e, void *s) { return broken; }
unsigned cuEventElapsedTime(float *ms, void *a, void *b) { *ms = 0.0025f; return broken; }

unsigned cuMemAlloc_v2(unsigned long long *p, size_t n)
{
    if (n == 0)
        return INVALID_VALUE;
    /* Fresh memory holds anything. */
    *p = (unsigned long long)memset(malloc(n), 0xa5, n);
    allocations++;
    return broken;
}
unsigned cuMemFree_v2(unsigned long long p) { free((void *)p); allocations--; return broken; }
unsigned cuMemHostAlloc(void **p, size_t n, unsigned flags) { *p = memset(malloc(n), 0xa5, n); allocations++; return broken; }
unsigned cuMemFreeHost(void *p) { free(p); allocations--; return broken; }
unsigned cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t n) { memcpy((void *)to, from, n); return broken; }
unsigned cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t n) { memcpy(to, (void *)from, n); return broken; }
unsigned cuMemcpyAsync(unsigned long long to, unsigned long long from, size_t n, void *s)
{
    memmove((void *)to, (void *)from, n);
    return broken;
}

unsigned cuModuleLoadDataEx(void **m, const void *image, unsigned n, unsigned *options, void **values)
{
    if (strstr(image, ".version 99"))
        return OLD;
    if (strstr(image, "nonsense")) {
        for (unsigned i = 0; i + 1 < n; i++)
            if (options[i] == 5 && options[i + 1] == 6)
                snprintf(values[i], (size_t)values[i + 1], "line 1; fatal : Parsing error near 'nonsense'\n");
        return INVALID_PTX;
    }
    *m = strdup(image);
    return broken;
}
unsigned cuModuleUnload(void *m) { free(m); return broken; }
unsigned cuModuleGetFunction(void **f, void *m, const char *name)
{
    for (int i = 0; kernels[i]; i++)
        if (!strcmp(kernels[i], name)) {
            *f = (void *)kernels[i];
            return broken;
        }
    return NOT_FOUND;
}
static int table[4] = {10, 20, 30, 40};
unsigned cuModuleGetGlobal_v2(unsigned long long *address, size_t *bytes, void *m, const char *name)
{
    if (strcmp(name, "table"))
        return NOT_FOUND;
    *address = (unsigned long long)table;
    *bytes = sizeof table;
    return broken;
}
unsigned cuFuncSetAttribute(void *f, int attribute, int value)
{
    if (attribute != 8 || value > 227 << 10)
        return INVALID_VALUE;
    opted_in = value;
    return broken;
}

unsigned cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, void *stream, void **params, void **extra)
{
    if (broken)
        return broken;
    if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024 || (shared > 48 << 10 && opted_in < (int)shared))
        return INVALID_VALUE;
    if (!strcmp(f, "add")) {
        int *data = *(int **)params[0], by = *(int *)params[1], n = *(int *)params[2];
        for (int i = 0; i < n; i++)
            data[i] += by;
    } else if (!strcmp(f, "print")) {
        printf("thread 0 says %d\n", *(int *)params[0]);
    } else if (!strcmp(f, "fault")) {
        pending = ILLEGAL_ADDRESS;
    } else if (!strcmp(f, "memory")) {
        printf("%d\n", allocations);
    } else if (!strcmp(f, "hang")) {
        for (;;)
            pause();
    } else if (!strcmp(f, "crash")) {
        kill(getpid(), SIGKILL);
    }
    return 0;
}
unsigned cuLaunchCooperativeKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned shared, void *stream, void **params)
{
    printf("cooperative\n");
    return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, 0);
}
struct attribute {
    unsigned id;
    char pad[4];
    unsigned value[16];
};
struct config {
    unsigned gx, gy, gz, bx, by, bz, shared;
    void *stream;
    struct attribute *attributes;
    unsigned count;
};
unsigned cuLaunchKernelEx(const struct config *how, void *f, void **params, void **extra)
{
    for (unsigned i = 0; i < how->count; i++) {
        unsigned *value = how->attributes[i].value;
        printf("attribute %u: %u %u %u\n", how->attributes[i].id, value[0], value[1], value[2]);
    }
    return cuLaunchKernel(f, how->gx, how->gy, how->gz, how->bx, how->by, how->bz, how->shared, how->stream, params, extra);
}
