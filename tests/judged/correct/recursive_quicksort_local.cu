// Each thread sorts a local array by recursion.
//
// flags: --grid 1 --block 32 --arg 0=i32[256]:random:0..=99
// expect: clean

__device__ __noinline__ void sort(int *a, int low, int high)
{
    if (low >= high)
        return;
    int pivot = a[high], at = low;
    for (int i = low; i < high; i++)
        if (a[i] < pivot) {
            int swap = a[i];
            a[i] = a[at];
            a[at++] = swap;
        }
    a[high] = a[at];
    a[at] = pivot;
    sort(a, low, at - 1);
    sort(a, at + 1, high);
}

__global__ void rows(int *data)
{
    int own[8];
    for (int i = 0; i < 8; i++)
        own[i] = data[threadIdx.x * 8 + i];
    sort(own, 0, 7);
    for (int i = 0; i < 8; i++)
        data[threadIdx.x * 8 + i] = own[i];
}
