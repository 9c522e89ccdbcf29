// A table of cases with barriers in some of them; the whole block takes the same case.
//
// flags: --grid 6 --block 64 --arg 0=i32[384]:iota
// expect: clean

__global__ void dispatch(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    int *mine = data + blockIdx.x * 64;
    tile[t] = mine[t];
    switch (blockIdx.x) {
    case 0:
        __syncthreads();
        mine[t] = tile[63 - t];
        break;
    case 1:
        mine[t] = -tile[t];
        break;
    case 2:
        __syncthreads();
        mine[t] = tile[t ^ 1];
        __syncthreads();
        tile[t] = t;
        __syncthreads();
        mine[t] += tile[t ^ 32];
        break;
    case 3:
        tile[t] *= 5;
        __syncwarp();
        mine[t] = tile[t ^ 3];
        break;
    case 4:
        mine[t] = __syncthreads_count(tile[t] % 3);
        break;
    default:
        mine[t] = 0;
    }
}
