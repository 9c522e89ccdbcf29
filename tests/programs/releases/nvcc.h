/* What nvcc makes of the host code of a program, written by hand for a C compiler (`crt/host_runtime.h` and `crt/link.stub` of CUDA 11.8, 12.4
   and 13.0). A program `x.cu` includes this header first. nvcc compiles it as it is; `x.c` defines what stands for its kernels and variables,
   and then includes `x.cu`, whose device code is left out. -DRELEASE=11, 12 or 13. */
#pragma once
#include "check.h"

#ifdef __CUDACC__
#define LAUNCH(kernel, grid, block, ...) kernel<<<grid, block>>>(__VA_ARGS__)
#else
#include <stdint.h>
#include <string.h>

typedef struct { unsigned x, y, z; } dim3;
typedef struct { uint32_t magic, version; const void *data; void *list; } Wrapper;

void **__cudaRegisterFatBinary(void *), __cudaRegisterFatBinaryEnd(void **), __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);
void __cudaRegisterManagedVar(void **, void **, char *, const char *, int, size_t, int, int);
char __cudaInitModule(void **);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, void *), __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void *);
#if RELEASE == 13
int __cudaGetKernel(void **, const void *), __cudaLaunchKernel(void *, dim3, dim3, void **, size_t, void *);
#else
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
#endif

enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
int cudaMalloc(void **, size_t), cudaFree(void *), cudaMemcpy(void *, const void *, size_t, int), cudaMemset(void *, int, size_t);
int cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
int cudaMemcpyFromSymbol(void *, const void *, size_t, size_t, int);
int cudaLaunchCooperativeKernel(const void *, dim3, dim3, void **, size_t, void *), cudaDeviceSynchronize(void);

/* A pinned file `NAME.fatbin` in a section of the program. */
#define CONTAINER(name, section)                                                                                  \
    __asm__(".section " section ", \"a\"\n.align 8\n" #name ":\n.incbin \"" #name ".fatbin\"\n.align 8\n.text\n"); \
    extern const unsigned char name[]
#define IN_SEGMENT __attribute__((aligned(8), section(".nvFatBinSegment")))

#define LAUNCH(kernel, grid, block, ...)                                                                              \
    do {                                                                                                              \
        if (__cudaPushCallConfiguration((dim3){grid, 1, 1}, (dim3){block, 1, 1}, 0, NULL) == 0) kernel(__VA_ARGS__); \
    } while (0)

/* The end of the function that stands for a kernel. */
static inline void launch(const void *kernel, void **args) {
    dim3 grid, block;
    size_t shared;
    void *stream;
    if (__cudaPopCallConfiguration(&grid, &block, &shared, &stream) != 0) return;
#if RELEASE == 13
    void *handle = NULL;
    if (__cudaGetKernel(&handle, kernel) == 0) (void)__cudaLaunchKernel(handle, grid, block, args, shared, stream);
#else
    (void)cudaLaunchKernel(kernel, grid, block, args, shared, stream);
#endif
}

static inline void register_kernel(void **handle, const void *kernel, const char *name) {
    __cudaRegisterFunction(handle, kernel, (char *)name, name, -1, NULL, NULL, NULL, NULL, NULL);
}
#endif
