// Every thread hands a pointer to an array of its own to a function that sorts it. The addresses are the same in all
// threads, the memory is not.
//
// flags: --grid 2 --block 32 --arg 0=i32[64]:random
// expect: clean

__device__ __noinline__ void sort(int *values, int count)
{
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && values[j] < values[j - 1]; j--) {
            int swapped = values[j];
            values[j] = values[j - 1];
            values[j - 1] = swapped;
        }
}

__global__ void medians(int *data)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    int around[5];
    for (int k = 0; k < 5; k++)
        around[k] = data[i] * (k + 3) % 17;
    sort(around, 5);
    data[i] = around[2];
}
