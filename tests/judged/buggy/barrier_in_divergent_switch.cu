// The case depends on the warp, and one of the cases has a barrier.
//
// flags: --grid 1 --block 96 --arg 0=i32[96]:iota
// expect: divergent-barrier

__global__ void dispatch(int *data)
{
    int t = threadIdx.x;
    int value = data[t];
    switch (t / 32) {
    case 0:
        value *= 3;
        break;
    case 1:
        value += __syncthreads_count(value > 40); //~ divergent-barrier wait
        break;
    default:
        value -= 5;
    }
    data[t] = value;
    __syncthreads(); //~ divergent-barrier wait
    data[t] += 1;
}
