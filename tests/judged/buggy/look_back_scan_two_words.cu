// The same with value and status in two words and no fence between them.
//
// flags: --grid 4 --block 32 --arg 0=i32[128]:iota --arg 1=i32[4]:zeros --arg 2=i32[4]:zeros
// expect: data-race

__global__ void scan(int *data, int *prefixes, int *ready)
{
    int lane = threadIdx.x;
    int i = blockIdx.x * 32 + lane;
    int sum = data[i];
    for (int d = 1; d < 32; d *= 2) {
        int left = __shfl_up_sync(0xffffffff, sum, d);
        sum += lane >= d ? left : 0;
    }
    int before = 0;
    if (lane == 31) {
        if (blockIdx.x > 0) {
            while (*(volatile int *)&ready[blockIdx.x - 1] == 0) {}
            before = prefixes[blockIdx.x - 1]; //~ data-race read
        }
        prefixes[blockIdx.x] = before + sum; //~ data-race write
        atomicExch(&ready[blockIdx.x], 1);
    }
    data[i] = sum + __shfl_sync(0xffffffff, before, 31);
}
