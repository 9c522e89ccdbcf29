/* What nvcc 11.8 makes of the host code of `references.cu`, by hand: a fat binary whose PTX is a file's, kernels and references that are
   registered, and calls with the structures of CUDA 11 (`driver_types.h`, `texture_types.h`). The file is the argument; with another, kernels
   run before anything is bound, too. */
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { WIDTH = 64, HEIGHT = 16 };

typedef struct { unsigned x, y, z; } Dim;
typedef struct { int x, y, z, w, kind; } Format;
typedef struct {
    int normalized, filter, address[3];
    Format format;
    int srgb;
    unsigned anisotropy;
    int level_filter;
    float bias, least, most;
    int trilinear, reserved[14];
} Texture;
typedef struct { Format format; } Surface;
typedef struct { uint32_t magic, version; const void *data; void *list; } Wrapper;

void **__cudaRegisterFatBinary(void *), __cudaRegisterFatBinaryEnd(void **), __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
void __cudaRegisterTexture(void **, const void *, const void **, const char *, int, int, int);
void __cudaRegisterSurface(void **, const void *, const void **, const char *, int, int);
int cudaLaunchKernel(const void *, Dim, Dim, void **, size_t, void *);
int cudaMalloc(void **, size_t), cudaFree(void *), cudaMemcpy(void *, const void *, size_t, int), cudaGetLastError(void);
int cudaMallocArray(void **, const Format *, size_t, size_t, unsigned), cudaFreeArray(void *);
int cudaMemcpy2DToArray(void *, size_t, size_t, const void *, size_t, size_t, size_t, int);
int cudaMemcpy2DFromArray(void *, size_t, const void *, size_t, size_t, size_t, size_t, int);
int cudaBindTexture(size_t *, const Texture *, const void *, const Format *, size_t);
int cudaBindTexture2D(size_t *, const Texture *, const void *, const Format *, size_t, size_t, size_t);
int cudaBindTextureToArray(const Texture *, const void *, const Format *), cudaUnbindTexture(const Texture *);
int cudaBindSurfaceToArray(const Surface *, const void *, const Format *);
int cudaGetTextureReference(const Texture **, const void *), cudaGetTextureAlignmentOffset(size_t *, const Texture *);
int cudaCreateTextureObject(unsigned long long *, const void *, const void *, const void *);
int cudaDestroyTextureObject(unsigned long long), cudaFuncGetAttributes(void *, const void *);
int cudaFuncSetAttribute(const void *, int, int), cudaPointerGetAttributes(void *, const void *);
int cudaGetDriverEntryPoint(const char *, void **, unsigned long long, int *);

/* Their addresses stand for the kernels. */
static void from_plane(void) {}
static void from_lines(void) {}
static void to_sheet(void) {}
static Texture plane, fractions, whole;
static Surface sheet;

/* A container with one entry, as `fatbinary` writes it: the kind, sizes, the architecture, and the text as it is. */
static void *container(const char *file) {
    FILE *from = fopen(file, "rb");
    TRUE(from != NULL);
    unsigned char *all = calloc(1, 1 << 20);
    size_t bytes = fread(all + 16 + 64, 1, (1 << 20) - 100, from), padded = (bytes + 8) / 8 * 8;
    fclose(from);
    uint16_t halves[] = {1, 16}, kind[] = {1, 0x101};
    uint32_t magic = 0xBA55ED50, header = 64, arch = 52, wide = 64;
    uint64_t size = 64 + padded, payload = padded;
    memcpy(all, &magic, 4), memcpy(all + 4, halves, 4), memcpy(all + 8, &size, 8);
    unsigned char *entry = all + 16;
    memcpy(entry, kind, 4), memcpy(entry + 4, &header, 4), memcpy(entry + 8, &payload, 8);
    memcpy(entry + 28, &arch, 4), memcpy(entry + 32, &wide, 4);
    return all;
}

static void launch(const void *kernel, unsigned grid, unsigned block, void **args) {
    OK(cudaLaunchKernel(kernel, (Dim){grid, 1, 1}, (Dim){block, 1, 1}, args, 0, NULL));
}

static float image[HEIGHT][WIDTH], back[HEIGHT][WIDTH];

static void is_shifted(float shift) {
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            float left = image[y][x], right = image[y][x + 1 < WIDTH ? x + 1 : x];
            TRUE(back[y][x] == left + shift * (right - left));
        }
}

/* Structures that CUDA 12 made longer: nothing is read or written behind them. */
static void structures(void *array, const void *pointer) {
    unsigned char all[256];
    unsigned long long object;
    struct { int kind, fill; void *array; uint64_t rest[6]; } resource = {0, 0, array, {0}};
    struct { int address[3], filter, read, srgb; float border[4]; int rest[7], behind; } texture = {.behind = 7};
    TRUE(sizeof texture == 72 && sizeof resource == 64);
    OK(cudaCreateTextureObject(&object, &resource, &texture, NULL));
    OK(cudaDestroyTextureObject(object));
    memset(all, 0xa5, sizeof all);
    OK(cudaFuncGetAttributes(all, from_plane));
    for (size_t i = 56; i < sizeof all; i++) TRUE(all[i] == 0xa5);
    memset(all, 0xa5, sizeof all);
    OK(cudaPointerGetAttributes(all, pointer));
    for (size_t i = 24; i < sizeof all; i++) TRUE(all[i] == 0xa5);
    /* PTX for sm_52 runs on the GPU that is there, whose blocks may have more shared memory. */
    OK(cudaFuncSetAttribute(from_plane, 8, 60 << 10));
    /* The fourth parameter came with CUDA 12. */
    void *function = NULL;
    OK(cudaGetDriverEntryPoint("cuMemAlloc", &function, 0, (int *)1));
    TRUE(function != NULL);
}

int main(int argc, char **argv) {
    TRUE(argc > 1);
    static Wrapper wrapper = {0x466243B1, 1, NULL, NULL};
    wrapper.data = container(argv[1]);
    void **handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, (const char *)from_plane, NULL, "from_plane", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(handle, (const char *)from_lines, NULL, "from_lines", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(handle, (const char *)to_sheet, NULL, "to_sheet", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterTexture(handle, &plane, NULL, "::plane", 2, 0, 0);
    __cudaRegisterTexture(handle, &fractions, NULL, "::fractions", 1, 1, 0);
    __cudaRegisterTexture(handle, &whole, NULL, "::whole", 1, 0, 0);
    __cudaRegisterSurface(handle, &sheet, NULL, "::sheet", 2, 0);
    __cudaRegisterFatBinaryEnd(handle);

    Format single = {32, 0, 0, 0, 2}, integer = {32, 0, 0, 0, 0}, bytes_of_4 = {8, 8, 8, 8, 1};
    void *out, *to, *sums, *squares, *small, *array;
    int numbers[33], summed[32];
    unsigned char bytes[4 * 32];
    float parts[32][4], shift = 0.75f;
    for (int i = 0; i < WIDTH * HEIGHT; i++) image[i / WIDTH][i % WIDTH] = i % 37;
    for (int i = 0; i < 33; i++) numbers[i] = i * i;
    for (int i = 0; i < 4 * 32; i++) bytes[i] = 2 * i;
    OK(cudaMalloc(&out, sizeof back));
    OK(cudaMalloc(&to, sizeof parts));
    OK(cudaMalloc(&sums, sizeof summed));
    OK(cudaMalloc(&squares, sizeof numbers));
    OK(cudaMalloc(&small, sizeof bytes));
    OK(cudaMemcpy(squares, numbers, sizeof numbers, 1));
    OK(cudaMemcpy(small, bytes, sizeof bytes, 1));
    OK(cudaMallocArray(&array, &single, WIDTH, HEIGHT, 2));
    OK(cudaMemcpy2DToArray(array, 0, 0, image, sizeof image[0], sizeof image[0], HEIGHT, 1));
    structures(array, out);

    const Texture *same = NULL;
    size_t offset = 7;
    OK(cudaGetTextureReference(&same, &plane));
    TRUE(same == &plane);
    TRUE(cudaGetTextureReference(&same, &sheet) == 18);
    TRUE(cudaGetTextureAlignmentOffset(&offset, &plane) == 19);
    TRUE(cudaBindTexture(NULL, (const Texture *)&sheet, small, &single, 4) == 18);
    TRUE(cudaGetLastError() == 18);

    if (argc > 2) {
        launch(from_plane, HEIGHT, WIDTH, (void *[]){&out, &shift});
        launch(to_sheet, HEIGHT, WIDTH, NULL);
        OK(cudaMemcpy(back, out, sizeof back, 2));
        for (int i = 0; i < WIDTH * HEIGHT; i++) TRUE(back[i / WIDTH][i % WIDTH] == 0);
    }
    plane.filter = 1;
    plane.address[0] = plane.address[1] = 1;
    OK(cudaBindTextureToArray(&plane, array, &single));
    OK(cudaGetTextureAlignmentOffset(&offset, &plane));
    TRUE(offset == 0);
    launch(from_plane, HEIGHT, WIDTH, (void *[]){&out, &shift});
    OK(cudaMemcpy(back, out, sizeof back, 2));
    is_shifted(0.25f);

    /* Memory, bound to the same reference; the launch before used the array. */
    void *rows;
    OK(cudaMalloc(&rows, sizeof image));
    OK(cudaMemcpy(rows, image, sizeof image, 1));
    plane.filter = 0;
    shift = 0.5f;
    OK(cudaBindTexture2D(&offset, &plane, rows, &single, WIDTH, HEIGHT, sizeof image[0]));
    launch(from_plane, HEIGHT, WIDTH, (void *[]){&out, &shift});
    OK(cudaMemcpy(back, out, sizeof back, 2));
    is_shifted(0);

    /* As many bytes as there are, which is the default; and fewer. */
    OK(cudaBindTexture(NULL, &fractions, small, &bytes_of_4, UINT32_MAX));
    OK(cudaBindTexture(NULL, &whole, squares, &integer, 32 * sizeof(int)));
    launch(from_lines, 1, 32, (void *[]){&to, &sums});
    OK(cudaMemcpy(parts, to, sizeof parts, 2));
    OK(cudaMemcpy(summed, sums, sizeof summed, 2));
    for (int i = 0; i < 32; i++) {
        TRUE(parts[i][0] == 8 * i / 255.0f && parts[i][3] == (8 * i + 6) / 255.0f);
        TRUE(summed[i] == i * i + (i < 31 ? (i + 1) * (i + 1) : 0));
    }

    OK(cudaBindSurfaceToArray(&sheet, array, &single));
    launch(to_sheet, HEIGHT, WIDTH, NULL);
    OK(cudaMemcpy2DFromArray(back, sizeof back[0], array, 0, 0, sizeof back[0], HEIGHT, 2));
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) TRUE(back[y][x] == 100.0f * y + x);

    OK(cudaUnbindTexture(&plane));
    OK(cudaUnbindTexture(&fractions));
    OK(cudaUnbindTexture(&whole));
    OK(cudaFreeArray(array));
    OK(cudaFree(rows));
    OK(cudaFree(small));
    OK(cudaFree(squares));
    OK(cudaFree(sums));
    OK(cudaFree(to));
    OK(cudaFree(out));
    __cudaUnregisterFatBinary(handle);
    printf("as nvcc 11.8 has it\n");
    return 0;
}
