// Inclusive prefix sum of 32 elements by one warp.
//
// Each warp has a scratch array of 64 words. The lower half holds zeros, so that a lane can look up to
// 16 places to its left without asking whether anybody is there; lane k keeps its sum in word
// 32 + k. `data` points to the lane's own word of the lower half.
//
// Lanes of a warp run independently since Volta: what one lane has written is there for another
// only after __syncwarp.

__device__ int scan_syncwarp(int *data, int value)
{
#ifndef BUG_LOWER_HALF_NOT_ZEROED
    data[0] = 0; //~[shared-scratch] data-race#1 write, data-race#2 write
#endif
    data[32] = value; //~[shared-scratch] data-race#3 write, data-race#4 write, data-race#5 write
    __syncwarp();
    for (int d = 1; d < 32; d *= 2) {
        value += data[32 - d]; //~[lower-half-not-zeroed] uninitialized-read //~[shared-scratch] data-race#2 read, data-race#4 read, data-race#6 read
        __syncwarp();
        data[32] = value; //~[shared-scratch] data-race#5 write, data-race#6 write, data-race#7 write
        __syncwarp();
    }
    return value;
}

/// Without scratch: the sums travel from register to register.
__device__ int scan_shuffle(int value)
{
    int lane = threadIdx.x % 32;
    for (int d = 1; d < 32; d *= 2) {
        int left = __shfl_up_sync(0xffffffff, value, d);
        if (lane >= d)
            value += left;
    }
    return value;
}

#ifdef BUG_PLAIN_POINTER
typedef int Word; // the compiler keeps the sum in a register: no lane ever sees it
#else
typedef volatile int Word; // every access happens, but nothing makes the lanes take turns
#endif

/// Believes that all lanes execute a line together before any goes on to the next.
__device__ int scan_lockstep(Word *data, int value)
{
    data[0] = 0;      //~[plain-pointer] data-race#1 write //~[volatile] lockstep-assumption#1 write
    data[32] = value; //~[volatile] lockstep-assumption#2 write
#pragma unroll
    for (int d = 1; d < 32; d *= 2)
        data[32] += data[32 - d]; //~[plain-pointer] data-race#1 read, data-race#2 read write, uninitialized-read //~[volatile] uninitialized-read, lockstep-assumption#1 read, lockstep-assumption#2 read, lockstep-assumption#3 read write
    return data[32];
}

/// The same belief, with the sum kept in a register: half of the loads and stores.
__device__ int scan_lockstep_register(volatile int *data, int value)
{
    data[0] = 0; //~[volatile-register] lockstep-assumption#1 write
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        data[32] = value;      //~[volatile-register] lockstep-assumption#2 write
        value += data[32 - d]; //~[volatile-register] uninitialized-read, lockstep-assumption#1 read, lockstep-assumption#2 read
    }
    return value;
}

extern __shared__ int scratch[];

/// The calling lane's word in the lower half of its warp's scratch.
__device__ int *own_word()
{
#ifdef BUG_SHARED_SCRATCH
    int warp = 0; // all warps of the block in the same 64 words
#else
    int warp = threadIdx.x / 32;
#endif
    return scratch + 64 * warp + threadIdx.x % 32;
}

/// Scans every 32 elements on their own; whole warps only.
__global__ void scan_warps_syncwarp(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = scan_syncwarp(own_word(), i < n ? in[i] : 0);
    if (i < n)
        out[i] = sum;
}

__global__ void scan_warps_shuffle(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = scan_shuffle(i < n ? in[i] : 0);
    if (i < n)
        out[i] = sum;
}

__global__ void scan_warps_lockstep(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = scan_lockstep(own_word(), i < n ? in[i] : 0);
    if (i < n)
        out[i] = sum;
}

__global__ void scan_warps_lockstep_register(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = scan_lockstep_register(own_word(), i < n ? in[i] : 0);
    if (i < n)
        out[i] = sum;
}
