// Texture and surface references, which CUDA 11 was the last to have. `host.c` calls the same kernels without a compiler for CUDA.
//~ needs CUDA 11
//~ nvcc -Wno-deprecated-declarations
//~ run : clean
//~ prints: 0 values differ
#include <cstdio>

const int width = 64, height = 16;

texture<float, 2, cudaReadModeElementType> plane;
texture<uchar4, 1, cudaReadModeNormalizedFloat> fractions;
texture<int, 1, cudaReadModeElementType> whole;
surface<void, cudaSurfaceType2D> sheet;

extern "C" __global__ void from_plane(float *out, float shift)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = tex2D(plane, threadIdx.x + shift, blockIdx.x + 0.5f);
}

extern "C" __global__ void from_lines(float4 *to, int *sums)
{
    to[threadIdx.x] = tex1Dfetch(fractions, threadIdx.x);
    sums[threadIdx.x] = tex1Dfetch(whole, threadIdx.x) + tex1Dfetch(whole, threadIdx.x + 1);
}

extern "C" __global__ void to_sheet()
{
    surf2Dwrite(100.0f * blockIdx.x + threadIdx.x, sheet, threadIdx.x * sizeof(float), blockIdx.x);
}

static float image[height][width], back[height][width];

static int differ_by(float shift)
{
    int differ = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float left = image[y][x], right = image[y][x + 1 < width ? x + 1 : x];
            differ += back[y][x] != left + shift * (right - left);
        }
    return differ;
}

int main()
{
    int differ = 0, numbers[33];
    unsigned char bytes[4 * 32];
    float4 parts[32];
    for (int i = 0; i < width * height; i++)
        image[i / width][i % width] = i % 37;
    for (int i = 0; i < 33; i++)
        numbers[i] = i * i;
    for (int i = 0; i < 4 * 32; i++)
        bytes[i] = 2 * i;

    float *out;
    float4 *to;
    int *sums, *squares, summed[32];
    uchar4 *small;
    cudaMalloc(&out, sizeof back);
    cudaMalloc(&to, sizeof parts);
    cudaMalloc(&sums, sizeof summed);
    cudaMalloc(&squares, sizeof numbers);
    cudaMalloc(&small, sizeof bytes);
    cudaMemcpy(squares, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    cudaMemcpy(small, bytes, sizeof bytes, cudaMemcpyHostToDevice);

    // An array, between whose texels the texture interpolates.
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMallocArray(&array, &format, width, height, cudaArraySurfaceLoadStore);
    cudaMemcpy2DToArray(array, 0, 0, image, sizeof image[0], sizeof image[0], height, cudaMemcpyHostToDevice);
    plane.filterMode = cudaFilterModeLinear;
    plane.addressMode[0] = plane.addressMode[1] = cudaAddressModeClamp;
    cudaBindTextureToArray(plane, array);
    from_plane<<<height, width>>>(out, 0.75f);
    cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost);
    differ += differ_by(0.25f);

    // Rows of memory, bound to the same reference.
    float *rows;
    size_t pitch;
    cudaMallocPitch(&rows, &pitch, sizeof image[0], height);
    cudaMemcpy2D(rows, pitch, image, sizeof image[0], sizeof image[0], height, cudaMemcpyHostToDevice);
    plane.filterMode = cudaFilterModePoint;
    cudaBindTexture2D(nullptr, plane, rows, format, width, height, pitch);
    from_plane<<<height, width>>>(out, 0.5f);
    cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost);
    differ += differ_by(0);

    // Linear memory: bytes as fractions, and integers, of which none lies behind the last.
    cudaBindTexture(nullptr, fractions, small, sizeof bytes);
    cudaBindTexture(nullptr, whole, squares, 32 * sizeof(int));
    from_lines<<<1, 32>>>(to, sums);
    cudaMemcpy(parts, to, sizeof parts, cudaMemcpyDeviceToHost);
    cudaMemcpy(summed, sums, sizeof summed, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; i++) {
        differ += parts[i].x != 8 * i / 255.0f || parts[i].w != (8 * i + 6) / 255.0f;
        differ += summed[i] != i * i + (i < 31 ? (i + 1) * (i + 1) : 0);
    }

    cudaBindSurfaceToArray(sheet, array);
    to_sheet<<<height, width>>>();
    cudaMemcpy2DFromArray(back, sizeof back[0], array, 0, 0, sizeof back[0], height, cudaMemcpyDeviceToHost);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            differ += back[y][x] != 100.0f * y + x;

    cudaUnbindTexture(plane);
    cudaUnbindTexture(fractions);
    cudaUnbindTexture(whole);
    cudaFreeArray(array);
    cudaFree(rows);
    cudaFree(small);
    cudaFree(squares);
    cudaFree(sums);
    cudaFree(to);
    cudaFree(out);
    printf("%d values differ\n", differ);
    return cudaGetLastError();
}
