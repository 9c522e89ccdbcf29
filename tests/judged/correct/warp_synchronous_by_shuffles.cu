// A bitonic sort, a scan and a rotation by every kind of shuffle; no memory is shared at all.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:random
// expect: clean

__global__ void shuffles(int *data)
{
    const unsigned all = 0xffffffff;
    int lane = threadIdx.x % 32;
    int value = data[threadIdx.x];
    for (int size = 2; size <= 32; size *= 2)
        for (int d = size / 2; d > 0; d /= 2) {
            int other = __shfl_xor_sync(all, value, d);
            bool small = ((lane & d) == 0) == ((lane & size) == 0);
            value = small ? min(value, other) : max(value, other);
        }
    for (int d = 1; d < 32; d *= 2) {
        int left = __shfl_up_sync(all, value, d);
        value += lane >= d ? left : 0;
    }
    value -= __shfl_down_sync(all, value, 3, 8);
    double wide = __shfl_sync(all, (double)value, lane + 5);
    data[threadIdx.x] = value + (int)wide + __shfl_sync(all, value, 2, 4);
}
