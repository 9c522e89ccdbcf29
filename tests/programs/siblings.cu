// Kernels that one kernel launches on streams of the device.
//~ nvcc -rdc=true
//~ run in-order: clean
//~ run at-once: data-race@14,16 data-race@14
//~ run apart: clean
//~ run blocks: data-race@14
//~ run tail: clean
//~ run streams: data-race@14,16
#include <cstdio>
#include <cstring>

enum How { in_order, at_once, apart, blocks, tail, streams };

__global__ void set(int *word, int value) { *word = value; }
// Reads what the other one writes.
__global__ void use(const int *word, int *out) { *out = *word; }

__global__ void parent(int how, int *word, int *out)
{
    if (how == in_order) {
        // The default stream of the block.
        set<<<1, 1>>>(word, 1);
        use<<<1, 1>>>(word, out);
    } else if (how == at_once) {
        set<<<1, 1, 0, cudaStreamFireAndForget>>>(word, 1);
        set<<<1, 1, 0, cudaStreamFireAndForget>>>(word, 2);
        use<<<1, 1, 0, cudaStreamFireAndForget>>>(word, out);
    } else if (how == apart) {
        for (int i = 0; i < 3; i++)
            set<<<1, 1, 0, cudaStreamFireAndForget>>>(word + i, i);
    } else if (how == blocks) {
        set<<<1, 1>>>(word, blockIdx.x);
    } else if (how == tail) {
        set<<<1, 1, 0, cudaStreamFireAndForget>>>(word, 1);
        use<<<1, 1, 0, cudaStreamTailLaunch>>>(word, out);
    } else {
        cudaStream_t first, second;
        cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
        cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
        set<<<1, 1, 0, first>>>(word, 1);
        set<<<1, 1, 0, first>>>(word, 2);
        use<<<1, 1, 0, second>>>(word, out);
        cudaStreamDestroy(first);
        cudaStreamDestroy(second);
    }
}

int main(int argc, char **argv)
{
    const char *names[] = {"in-order", "at-once", "apart", "blocks", "tail", "streams"};
    int how = 0;
    while (how < 5 && argc > 1 && strcmp(argv[1], names[how])) how++;
    int *words;
    cudaMalloc(&words, 32);
    parent<<<how == blocks ? 2 : 1, 1>>>(how, words, words + 4);
    // What comes after is after all of them.
    set<<<1, 1>>>(words, 7);
    set<<<1, 1>>>(words + 4, 7);
    cudaDeviceSynchronize();
    cudaFree(words);
    return cudaGetLastError();
}
