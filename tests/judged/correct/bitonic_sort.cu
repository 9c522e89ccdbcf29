// Bitonic sort of a block in shared memory: a barrier behind each exchange.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:random:0..=99
// expect: clean

__global__ void sort(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();
    for (int size = 2; size <= 64; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            int other = t ^ stride;
            if (other > t) {
                int a = tile[t], b = tile[other];
                if ((a > b) == ((t & size) == 0)) {
                    tile[t] = b;
                    tile[other] = a;
                }
            }
            __syncthreads();
        }
    }
    __syncthreads();
    data[t] = tile[t];
}
