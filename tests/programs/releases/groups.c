/* What nvcc makes of the host code of `groups.cu`. */
#include "nvcc.h"

CONTAINER(groups, ".nv_fatbin");
static const Wrapper wrapper IN_SEGMENT = {0x466243B1, 1, groups, NULL};
static void **handle;
static int factor, launches;

static void sums(const int *from, int *to, int race) { launch(sums, (void *[]){&from, &to, &race}); }
static void copies(const int *from, int *to, int race) { launch(copies, (void *[]){&from, &to, &race}); }
static void rounds(int *data, int race) { launch(rounds, (void *[]){&data, &race}); }

/* The host reads and writes a managed variable through a pointer, which is there once the module is. */
static int *total_is_at;
static int *managed(void) {
    static char is_ready;
    is_ready = is_ready ? is_ready : __cudaInitModule(handle);
    return total_is_at;
}
#define total (*managed())

static void unregister(void) { __cudaUnregisterFatBinary(handle); }

__attribute__((constructor)) static void register_all(void) {
    handle = __cudaRegisterFatBinary((void *)&wrapper);
    register_kernel(handle, rounds, "rounds");
    register_kernel(handle, copies, "copies");
    register_kernel(handle, sums, "sums");
    __cudaRegisterVar(handle, (char *)&factor, "factor", "factor", 0, sizeof factor, 1, 0);
    __cudaRegisterVar(handle, (char *)&launches, "launches", "launches", 0, sizeof launches, 0, 0);
    __cudaRegisterManagedVar(handle, (void **)&total_is_at, "total", "total", 0, sizeof(int), 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    atexit(unregister);
}

#include "groups.cu"
