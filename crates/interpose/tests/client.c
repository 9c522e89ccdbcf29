/* A client of the driver: client FILE.ptx KERNEL BLOCKS THREADS [HOW] launches a kernel whose parameters are a buffer of 1,024 ints, 0, 1, 2, …,
 * and their number, and prints their sum, weighted by place, so that other results are another sum.
 * HOW: by `extra`, by `cuLaunchKernelEx` (ex), with a limit of dynamic shared memory of the program's own (limit), in a context that is gone before the
 * program ends (release), ended by a signal before anybody has waited (stopped); beside a copy on another stream that nothing orders (copy), an event (ordered-copy), before which it was issued (copy-first);
 * or twice, on two streams (streams), that an event orders, or the host, or the legacy stream, or a callback.
 * Or it does not launch, and prints how calls end that no driver takes (wrong).
 * It asks for all names as runtimes do, by cuGetProcAddress. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned (*Call)();
static unsigned (*ask)(const char *, void **, int, unsigned long long, unsigned *);

static Call of(const char *name)
{
    void *found = 0;
    unsigned status;
    if (ask(name, &found, 12000, 0, &status) || !found) {
        fprintf(stderr, "no %s\n", name);
        exit(9);
    }
    return (Call)found;
}

#define DO(name, ...)                                          \
    do {                                                       \
        unsigned error = of(name)(__VA_ARGS__);                \
        if (error) {                                           \
            fprintf(stderr, "%s: error %u\n", name, error);    \
            exit(9);                                           \
        }                                                      \
    } while (0)

static void nothing(void *data) {}

/* A file that begins with these four bytes of a kind, and ends before what its header says. */
static const char *cut_off(const char *beside, unsigned magic)
{
    static char name[4096];
    unsigned words[4] = {magic, 0x100001, 1 << 20, 0};
    snprintf(name, sizeof name, "%s.cut", beside);
    FILE *file = fopen(name, "wb");
    if (!file || fwrite(words, 1, sizeof words, file) != sizeof words)
        exit(9);
    fclose(file);
    return name;
}

#define TELL(name, ...) printf("%s: %u\n", name, of(name)(__VA_ARGS__))

/* Calls that the driver refuses. */
static void wrong(void *kernel, unsigned long long at, void **params, const char *beside)
{
    void *node, *module;
    size_t most = -1;
    TELL("cuMemcpy2D", (void *)0);
    TELL("cuMemcpy3D", (void *)0);
    TELL("cuLaunchKernelEx", (void *)0, kernel, params, (void **)0);
    TELL("cuGraphAddKernelNode", &node, (void *)0, (void *)0, (size_t)0, (void *)0);
    TELL("cuLaunchKernel", kernel, 1, 1, 1, 32, 1, 1, 0, (void *)0, (void **)0, (void **)0);
    void *extra[] = {(void *)1, params, (void *)2, (void *)0, (void *)0};
    TELL("cuLaunchKernel", kernel, 1, 1, 1, 32, 1, 1, 0, (void *)0, (void **)0, extra);
    TELL("cuLaunchKernel", kernel, 1, 1, 1, 32, 1, 1, 0xfffffff8u, (void *)0, params, (void **)0);
    TELL("cuLaunchKernel", kernel, -1, -1, -1, 1024, 1, 1, 0, (void *)0, params, (void **)0);
    TELL("cuMemsetD32", at, 7, most / 2);
    TELL("cuMemsetD2D32", at, (size_t)0, 7, (size_t)4, (size_t)1 << 40);
    TELL("cuMemcpyDtoD", at, at + 64, most - 63);
    TELL("cuModuleLoad", &module, (void *)0);
    TELL("cuModuleLoadData", &module, (void *)0);
    /* a fat binary, and the wrapper that the compiler puts around one in a program */
    TELL("cuModuleLoad", &module, cut_off(beside, 0xba55ed50));
    TELL("cuModuleLoad", &module, cut_off(beside, 0x466243b1));
}

struct config { unsigned gx, gy, gz, bx, by, bz, shared; void *stream, *attributes; unsigned count; };

int main(int argc, char **argv)
{
    enum { COUNT = 1024 };
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context, *module, *kernel;
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 9;
    }
    ask = (unsigned (*)(const char *, void **, int, unsigned long long, unsigned *))dlsym(library, "cuGetProcAddress_v2");
    FILE *file = fopen(argv[1], "rb");
    char *text = calloc(1, 1 << 20);
    if (!file || !fread(text, 1, (1 << 20) - 1, file))
        return 9;
    unsigned blocks = atoi(argv[3]), threads = atoi(argv[4]);
    const char *how = argc > 5 ? argv[5] : "";
    DO("cuInit", 0);
    DO("cuDevicePrimaryCtxRetain", &context, 0);
    DO("cuCtxSetCurrent", context);
    DO("cuModuleLoadData", &module, text);
    DO("cuModuleGetFunction", &kernel, module, argv[2]);
    unsigned long long at;
    int numbers[COUNT], count = COUNT;
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i;
    DO("cuMemAlloc", &at, sizeof numbers);
    DO("cuMemcpyHtoD", at, numbers, sizeof numbers);
    void *params[] = {&at, &count};
    if (!strcmp(how, "wrong")) {
        wrong(kernel, at, params, argv[1]);
        DO("cuCtxSynchronize");
        return 0;
    }
    if (!strcmp(how, "extra")) {
        struct { unsigned long long at; int count; } all = {at, count};
        size_t size = sizeof all;
        void *extra[] = {(void *)1, &all, (void *)2, &size, 0};
        DO("cuLaunchKernel", kernel, blocks, 1, 1, threads, 1, 1, 0, (void *)0, (void **)0, extra);
    } else if (!strcmp(how, "ex")) {
        struct config config = {blocks, 1, 1, threads, 1, 1, 0, 0, 0, 0};
        DO("cuLaunchKernelEx", &config, kernel, params, (void **)0);
    } else if (!strcmp(how, "limit")) {
        /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
        DO("cuFuncSetAttribute", kernel, 8, 64);
        DO("cuLaunchKernel", kernel, blocks, 1, 1, threads, 1, 1, 64, (void *)0, params, (void **)0);
    } else if (!*how || !strcmp(how, "release") || !strcmp(how, "stopped")) {
        DO("cuLaunchKernel", kernel, blocks, 1, 1, threads, 1, 1, 0, (void *)0, params, (void **)0);
    } else {
        void *first, *second, *event;
        /* CU_STREAM_NON_BLOCKING */
        DO("cuStreamCreate", &first, strcmp(how, "legacy") ? 1 : 0);
        DO("cuStreamCreate", &second, 1);
        DO("cuEventCreate", &event, 0);
        if (!strcmp(how, "copy-first")) {
            DO("cuMemcpyHtoDAsync", at, numbers, 256, first);
            DO("cuLaunchKernel", kernel, blocks, 1, 1, threads, 1, 1, 0, second, params, (void **)0);
        } else {
        DO("cuLaunchKernel", kernel, blocks, 1, 1, threads, 1, 1, 0, first, params, (void **)0);
        if (!strcmp(how, "event")) {
            DO("cuEventRecord", event, first);
            DO("cuStreamWaitEvent", second, event, 0);
        } else if (!strcmp(how, "host"))
            DO("cuStreamSynchronize", first);
        else if (!strcmp(how, "legacy"))
            second = 0;
        else if (!strcmp(how, "callback"))
            DO("cuLaunchHostFunc", first, nothing, (void *)0);
        else if (!strcmp(how, "ordered-copy")) {
            DO("cuEventRecord", event, first);
            DO("cuEventSynchronize", event);
        }
        if (strstr(how, "copy2d")) {
            /* two rows of 64 bytes, one every 256: from the first byte on, or where no thread comes */
            struct {
                size_t x, y; unsigned kind; const void *host; unsigned long long device; void *array; size_t pitch;
                size_t tx, ty; unsigned tkind; void *thost; unsigned long long tdevice; void *tarray; size_t tpitch, width, height;
            } copy = {0, 0, 1, numbers, 0, 0, 64, 0, strstr(how, "apart") ? 8 : 0, 2, 0, at, 0, 256, 64, 2};
            DO("cuMemcpy2DAsync", &copy, second);
        } else if (strstr(how, "copy"))
            DO("cuMemsetD32Async", at, 7, 64, second);
        else
            DO("cuLaunchKernel", kernel, blocks, 1, 1, threads, 1, 1, 0, second, params, (void **)0);
        }
    }
    if (!strcmp(how, "stopped")) {
        /* what a time limit does, before anybody has waited */
        kill(getpid(), SIGTERM);
        pause();
    }
    DO("cuCtxSynchronize");
    DO("cuMemcpyDtoH", numbers, at, sizeof numbers);
    unsigned long long sum = 0;
    for (int i = 0; i < COUNT; i++)
        sum += (unsigned long long)numbers[i] * (i + 1);
    printf("%llu\n", sum);
    if (!strcmp(how, "release"))
        DO("cuDevicePrimaryCtxRelease", 0);
    return 0;
}
