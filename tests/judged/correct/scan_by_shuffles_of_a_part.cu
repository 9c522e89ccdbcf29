// A scan over the 20 lanes that exist: lanes below the distance keep their own value.
//
// flags: --grid 1 --block 20 --arg 0=i32[20]:iota
// expect: clean

__global__ void scan(int *data)
{
    int lane = threadIdx.x;
    int sum = data[lane];
    for (int d = 1; d < 32; d *= 2) {
        int left = __shfl_up_sync(0x000fffff, sum, d);
        if (lane >= d)
            sum += left;
    }
    data[lane] = sum;
}
