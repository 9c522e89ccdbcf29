// Two teams of two warps use one named barrier: 64 threads complete it, whichever team they are of.
//
// flags: --grid 1 --block 128 --arg 0=i32[128]:iota
// expect: data-race, uninitialized-read

__global__ void swap_with_partner(int *data)
{
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = data[t]; //~ data-race#1 write
    asm volatile("bar.sync 1, 64;" ::: "memory");
    data[t] = tile[t ^ 32]; //~ data-race#1 read, uninitialized-read
}
