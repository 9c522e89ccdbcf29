// The last block to finish adds up the partial sums (a template over type and size, a functor for the operation).
//
// flags: --entry total --grid 4 --block 64 --arg 0=i32[1]:uninitialized --arg 1=i32[4]:uninitialized --arg 2=u32[1]:zeros --arg 3=i32[256]:iota
// expect: clean

template <typename T> struct Plus {
    __device__ T operator()(T a, T b) const { return a + b; }
};

template <typename T, int N, typename F> __device__ T reduce(T value, F f)
{
    __shared__ T tile[N];
    int t = threadIdx.x;
    tile[t] = value;
    __syncthreads();
#pragma unroll
    for (int d = N / 2; d > 0; d /= 2) {
        if (t < d)
            tile[t] = f(tile[t], tile[t + d]);
        __syncthreads();
    }
    return tile[0];
}

extern "C" __global__ void total(int *out, int *partial, unsigned *done, const int *in)
{
    __shared__ bool last;
    int sum = reduce<int, 64>(in[blockIdx.x * 64 + threadIdx.x], Plus<int>());
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        __threadfence();
        int all = 0;
        for (int b = 0; b < gridDim.x; b++)
            all += partial[b];
        *out = all;
    }
}
