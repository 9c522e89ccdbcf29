// Bitonic sort with a barrier for each size only; the strides within one run into each other.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:random:0..=99
// expect: data-race

__global__ void sort(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = data[t];
    for (int size = 2; size <= 64; size *= 2) {
        __syncthreads();
        for (int stride = size / 2; stride > 0; stride /= 2) {
            int other = t ^ stride;
            if (other > t) {
                int a = tile[t];     //~ data-race#2 read
                int b = tile[other]; //~ data-race#3 read, data-race#4 read
                if ((a > b) == ((t & size) == 0)) {
                    tile[t] = b;     //~ data-race#3 write, data-race#7 write
                    tile[other] = a; //~ data-race#2 write, data-race#4 write, data-race#6 write, data-race#7 write
                }
            }
        }
    }
    __syncthreads();
    data[t] = tile[t];
}
