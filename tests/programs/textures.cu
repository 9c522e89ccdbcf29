// Arrays, textures and surfaces: what a fetch gives, and a surface that is written and read without order.
//~ run : clean
//~ run unordered: data-race@20,22 non-coherent-read@20,22
//~ run freed: use-after-free@31 use-after-free@32
//~ prints: 0 values differ
#include <cmath>
#include <cstdio>
#include <cstring>

__global__ void fetch(cudaTextureObject_t texture, const float2 *at, float *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = tex2D<float>(texture, at[i].x, at[i].y);
}

__global__ void turn(cudaSurfaceObject_t surface, float *to)
{
    int t = threadIdx.x;
    float old;
    surf2Dread(&old, surface, (t + 1) % 64 * 4, 0);
    to[t] = old;
    surf2Dwrite(old + 1, surface, t * 4, 0);
}
__global__ void rise(cudaSurfaceObject_t surface)
{
    surf2Dwrite(float(threadIdx.x), surface, threadIdx.x * 4, blockIdx.x);
}
__global__ void bytes(cudaTextureObject_t texture, uchar4 *to, float4 *fractions, cudaTextureObject_t as_fractions)
{
    int t = threadIdx.x;
    to[t] = tex1Dfetch<uchar4>(texture, t);
    fractions[t] = tex1Dfetch<float4>(as_fractions, t);
}

// Levels of an image: which one gradients mean, and how large each is. C++ has no function that asks for that.
__global__ void levels(cudaTextureObject_t texture, float *to, int2 *sizes)
{
    int t = threadIdx.x;
    float step = 1 << t;
    to[t] = tex2DGrad<float>(texture, 0.5f, 0.5f, make_float2(step / 64, 0), make_float2(0, step / 128));
    asm("txq.level.width.b32 %0, [%1], %2;" : "=r"(sizes[t].x) : "l"(texture), "r"(t));
    asm("txq.level.height.b32 %0, [%1], %2;" : "=r"(sizes[t].y) : "l"(texture), "r"(t));
}

static int differ_by_level()
{
    const int width = 64, height = 32, count = 4;
    static float image[height][width];
    float fetched[count + 1], *to;
    int2 sizes[count + 1], *asked;
    cudaMipmappedArray_t whole;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMallocMipmappedArray(&whole, &format, make_cudaExtent(width, height, 0), count);
    for (int level = 0; level < count; level++) {
        cudaArray_t part;
        cudaGetMipmappedArrayLevel(&part, whole, level);
        for (auto &row : image)
            for (float &texel : row)
                texel = level;
        cudaMemcpy2DToArray(part, 0, 0, image, sizeof image[0], (width >> level) * sizeof(float), height >> level, cudaMemcpyHostToDevice);
    }
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = whole;
    cudaTextureDesc desc = {};
    desc.normalizedCoords = true;
    desc.mipmapFilterMode = cudaFilterModeLinear;
    desc.maxMipmapLevelClamp = count - 1;
    cudaTextureObject_t texture;
    cudaCreateTextureObject(&texture, &resource, &desc, nullptr);
    cudaMalloc(&to, sizeof fetched);
    cudaMalloc(&asked, sizeof sizes);
    levels<<<1, count + 1>>>(texture, to, asked);
    cudaMemcpy(fetched, to, sizeof fetched, cudaMemcpyDeviceToHost);
    cudaMemcpy(sizes, asked, sizeof sizes, cudaMemcpyDeviceToHost);
    int differ = 0;
    for (int level = 0; level <= count; level++) {
        bool is = level < count;
        differ += fetched[level] != (is ? level : count - 1);
        differ += sizes[level].x != (is ? width >> level : 0) || sizes[level].y != (is ? height >> level : 0);
    }
    cudaDestroyTextureObject(texture);
    cudaFreeMipmappedArray(whole);
    cudaFree(asked);
    cudaFree(to);
    return differ;
}

static cudaTextureDesc sampler(cudaTextureAddressMode mode, cudaTextureFilterMode filter, bool normalized)
{
    cudaTextureDesc desc = {};
    desc.addressMode[0] = desc.addressMode[1] = mode;
    desc.filterMode = filter;
    desc.normalizedCoords = normalized;
    return desc;
}

// What the programming guide says of blending, with exact weights.
static float blended(const float *image, int width, int height, float x, float y)
{
    auto texel = [&](int i, int j) {
        i = i < 0 ? 0 : i >= width ? width - 1 : i;
        j = j < 0 ? 0 : j >= height ? height - 1 : j;
        return image[j * width + i];
    };
    int i = int(floorf(x - 0.5f)), j = int(floorf(y - 0.5f));
    float a = x - 0.5f - i, b = y - 0.5f - j;
    return (1 - b) * ((1 - a) * texel(i, j) + a * texel(i + 1, j)) + b * ((1 - a) * texel(i, j + 1) + a * texel(i + 1, j + 1));
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    const int width = 64, height = 16, n = 1000;
    static float image[height][width], result[n];
    static float2 at[n];
    for (int i = 0; i < width * height; i++)
        image[i / width][i % width] = i % 37;
    for (int i = 0; i < n; i++)
        at[i] = make_float2(i * 0.07f - 2, i * 0.017f - 0.5f);
    int differ = differ_by_level();

    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMallocArray(&array, &format, width, height, cudaArraySurfaceLoadStore);
    cudaMemcpy2DToArray(array, 0, 0, image, sizeof image[0], sizeof image[0], height, cudaMemcpyHostToDevice);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    float2 *where;
    float *to;
    cudaMalloc(&where, sizeof at);
    cudaMalloc(&to, sizeof result);
    cudaMemcpy(where, at, sizeof at, cudaMemcpyHostToDevice);

    cudaTextureObject_t linear;
    cudaTextureDesc desc = sampler(cudaAddressModeClamp, cudaFilterModeLinear, false);
    cudaCreateTextureObject(&linear, &resource, &desc, nullptr);
    fetch<<<4, 256>>>(linear, where, to, n);
    cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++)
        differ += fabsf(result[i] - blended(&image[0][0], width, height, at[i].x, at[i].y)) > 37 * 2 / 256.0f;

    // Where the image repeats, and where it has a border.
    for (auto mode : {cudaAddressModeWrap, cudaAddressModeMirror, cudaAddressModeBorder}) {
        cudaTextureObject_t point;
        desc = sampler(mode, cudaFilterModePoint, true);
        desc.borderColor[0] = -1;
        cudaCreateTextureObject(&point, &resource, &desc, nullptr);
        for (int i = 0; i < n; i++)
            at[i] = make_float2((i % 200 - 68 + 0.5f) / width, (i / 200 * 11 - 20 + 0.5f) / height);
        cudaMemcpy(where, at, sizeof at, cudaMemcpyHostToDevice);
        fetch<<<4, 256>>>(point, where, to, n);
        cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost);
        for (int i = 0; i < n; i++) {
            int x = i % 200 - 68, y = i / 200 * 11 - 20;
            auto fold = [&](int v, int size) {
                int period = mode == cudaAddressModeMirror ? 2 * size : size;
                v = (v % period + period) % period;
                return v < size ? v : 2 * size - 1 - v;
            };
            bool outside = x < 0 || x >= width || y < 0 || y >= height;
            float wanted = mode == cudaAddressModeBorder && outside ? -1 : image[fold(y, height)][fold(x, width)];
            differ += result[i] != wanted;
        }
        cudaDestroyTextureObject(point);
    }

    // A kernel's surface writes are there in the next kernel, by copy and by texture.
    cudaSurfaceObject_t surface;
    cudaCreateSurfaceObject(&surface, &resource);
    rise<<<height, width>>>(surface);
    cudaMemcpy2DFromArray(image, sizeof image[0], array, 0, 0, sizeof image[0], height, cudaMemcpyDeviceToHost);
    for (int i = 0; i < width * height; i++)
        differ += image[i / width][i % width] != i % width;
    if (!strcmp(how, "unordered")) turn<<<1, 64>>>(surface, to);

    // Linear memory, as integers and as fractions.
    uchar4 *small, *copied;
    float4 *fractions, back[32];
    cudaMalloc(&small, 32 * sizeof(uchar4));
    cudaMalloc(&copied, 32 * sizeof(uchar4));
    cudaMalloc(&fractions, sizeof back);
    cudaMemset(small, 0x33, 32 * sizeof(uchar4));
    cudaResourceDesc line = {};
    line.resType = cudaResourceTypeLinear;
    line.res.linear.devPtr = small;
    line.res.linear.desc = cudaCreateChannelDesc<uchar4>();
    line.res.linear.sizeInBytes = 24 * sizeof(uchar4);
    cudaTextureObject_t integers, parts;
    desc = sampler(cudaAddressModeClamp, cudaFilterModePoint, false);
    cudaCreateTextureObject(&integers, &line, &desc, nullptr);
    desc.readMode = cudaReadModeNormalizedFloat;
    cudaCreateTextureObject(&parts, &line, &desc, nullptr);
    if (!strcmp(how, "freed")) cudaFree(small);
    bytes<<<1, 32>>>(integers, copied, fractions, parts);
    cudaMemcpy(back, fractions, sizeof back, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; i++)
        differ += back[i].w != (i < 24 ? 0x33 / 255.0f : 0);

    cudaDestroyTextureObject(integers);
    cudaDestroyTextureObject(parts);
    cudaDestroyTextureObject(linear);
    cudaDestroySurfaceObject(surface);
    cudaFreeArray(array);
    if (strcmp(how, "freed")) cudaFree(small);
    cudaFree(copied);
    cudaFree(fractions);
    cudaFree(where);
    cudaFree(to);
    printf("%d values differ\n", *how ? 0 : differ);
    return cudaGetLastError();
}
