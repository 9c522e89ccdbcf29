/* What nvcc makes of the host code of `nodes.cu` and `twice.cu`, with what it adds when it links them: each file's container lies in a section of
   its own kind, and only the linked one, which has machine code, is registered, with a list of them. */
#include "nvcc.h"

CONTAINER(nodes, "__nv_relfatbin");
CONTAINER(twice, "__nv_relfatbin");
#if RELEASE == 11
CONTAINER(runtime, "__nv_relfatbin");
#define OBJECTS {nodes, twice, runtime, NULL}
#else
#define OBJECTS {nodes, twice, NULL}
#endif

/* A header, and one entry of machine code for `sm_75`, of which nothing can be run. */
static const struct {
    uint32_t magic;
    uint16_t version, header;
    uint64_t bytes;
    uint16_t kind, of;
    uint32_t own;
    uint64_t payload;
    uint32_t rest[3], arch, more[8], code[2];
} linked __attribute__((aligned(8), section(".nv_fatbin"))) = {
    .magic = 0xBA55ED50, .version = 1, .header = 16, .bytes = 72, .kind = 2, .of = 0x101, .own = 64, .payload = 8, .arch = 75};
static const void *objects[] = OBJECTS;
static const Wrapper wrapper IN_SEGMENT = {0x466243B1, 2, &linked, objects};
static void **handle;
static int visits;

static void leaf(const int *from, int *to, int race) { launch(leaf, (void *[]){&from, &to, &race}); }
static void root(int *data, int *to, int race) { launch(root, (void *[]){&data, &to, &race}); }

static void unregister(void) { __cudaUnregisterFatBinary(handle); }

__attribute__((constructor)) static void register_all(void) {
    handle = __cudaRegisterFatBinary((void *)&wrapper);
    atexit(unregister);
    register_kernel(handle, root, "root");
    register_kernel(handle, leaf, "leaf");
    __cudaRegisterVar(handle, (char *)&visits, "visits", "visits", 0, sizeof visits, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
}

#include "nodes.cu"
