// Kernels in which it is known of each barrier, fence and atomic whether it is needed at some launch, if not at the first one that
// `racetrap mutate` guesses. `// needed` ends each line whose barrier, fence or atomic is needed; `// one of` the lines of which one
// is needed; `// spare` what is not.

// A block of one warp has no second level.
extern "C" __global__ void two_level_reduction(const int *in, int *out)
{
    __shared__ int partial[32];
    int value = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_down_sync(~0u, value, step);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = value;
    __syncthreads(); // needed
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int warp = 0; warp < (blockDim.x + 31) / 32; warp++)
            sum += partial[warp];
        out[blockIdx.x] = sum;
    }
}

// A shift by a multiple of the block reads what the thread itself wrote.
extern "C" __global__ void rotate(const int *in, int *out, int shift)
{
    __shared__ int ring[1024];
    ring[threadIdx.x] = in[threadIdx.x];
    __syncthreads(); // needed
    out[threadIdx.x] = ring[(threadIdx.x + shift) % blockDim.x];
}

// Only an odd length has a middle that two threads touch.
extern "C" __global__ void fold(int *data, int n)
{
    __shared__ int half[1024];
    int i = threadIdx.x;
    if (i < 1024)
        half[i] = data[i];
    if (n % 2 == 1) {
        __syncthreads(); // needed
        if (i + 1 < blockDim.x)
            data[i] = half[i] + half[i + 1];
    } else {
        data[i] = 2 * half[i];
    }
}

// Blocks are not told apart by their number, so one is guessed.
extern "C" __global__ void last_of_all(int *sum, int *count, int *out, int value)
{
    if (threadIdx.x == 0) {
        atomicAdd(sum, value); // needed
        __threadfence(); // needed
        int before = atomicAdd(count, 1); // needed
        if (before == gridDim.x - 1) {
            __threadfence(); // spare
            out[0] = atomicAdd(sum, 0); // spare
        }
    }
}

extern "C" __global__ void only_for_7777(const int *in, int *out, int n)
{
    __shared__ int line[1024];
    line[threadIdx.x] = in[threadIdx.x];
    if (n == 7777) {
        __syncthreads(); // needed
        out[threadIdx.x] = line[blockDim.x - 1 - threadIdx.x];
    } else {
        out[threadIdx.x] = line[threadIdx.x];
    }
}

extern "C" __global__ void modes(const int *in, int *out, int mode)
{
    __shared__ int line[1024];
    line[threadIdx.x] = in[threadIdx.x];
    int next = (threadIdx.x + 1) % blockDim.x;
    switch (mode) {
    case 3:
        __syncthreads(); // needed
        out[threadIdx.x] = line[next];
        break;
    case 12:
        __syncthreads(); // needed
        out[threadIdx.x] = line[next] * 2;
        break;
    case 13:
        __syncthreads(); // spare
        out[threadIdx.x] = line[threadIdx.x] + 1;
        break;
    default:
        out[threadIdx.x] = line[threadIdx.x];
    }
}

extern "C" __global__ void rare_key(const int *keys, int *out)
{
    __shared__ int found;
    if (threadIdx.x == 0)
        found = -1;
    __syncthreads(); // needed
    if (keys[threadIdx.x] == 424242)
        atomicMax(&found, threadIdx.x); // needed
    __syncthreads(); // needed
    out[threadIdx.x] = found;
}

// Only a second tile overwrites the first.
extern "C" __global__ void tiles(const int *in, int *out, int n)
{
    __shared__ int tile[64];
    int sum = 0;
    for (int base = 0; base < n; base += blockDim.x) {
        if (threadIdx.x < 64)
            tile[threadIdx.x] = base + threadIdx.x < n ? in[base + threadIdx.x] : 0;
        __syncthreads(); // needed
        for (int k = 0; k < blockDim.x && k < 64; k++)
            sum += tile[k];
        __syncthreads(); // needed
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void within_warps(const int *in, int *out, int n)
{
    __shared__ int line[1024];
    line[threadIdx.x] = in[threadIdx.x];
    if (n > 2000) {
        __syncwarp(); // needed
        out[threadIdx.x] = line[threadIdx.x ^ 1];
    } else {
        out[threadIdx.x] = line[threadIdx.x];
    }
}

extern "C" __global__ void scan(const int *in, int *out, int rounds)
{
    __shared__ int line[1024];
    int i = threadIdx.x;
    line[i] = in[i];
    __syncthreads(); // needed
    for (int step = 1; step < rounds && step < blockDim.x; step *= 2) {
        int other = i >= step ? line[i - step] : 0;
        __syncthreads(); // needed
        line[i] += other;
        __syncthreads(); // needed
    }
    out[i] = i > 0 ? line[i - 1] : 0;
}

extern "C" __global__ void histogram(const int *in, int *out, int n)
{
    __shared__ int bins[8];
    if (threadIdx.x < 8)
        bins[threadIdx.x] = 0;
    __syncthreads(); // needed
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        atomicAdd(&bins[in[i] & 7], 1); // needed
    __syncthreads(); // needed
    if (threadIdx.x < 8)
        out[threadIdx.x] = bins[threadIdx.x];
}

// With one round nobody writes the seat again.
extern "C" __global__ void speaker(const int *in, int *out, int rounds)
{
    __shared__ int seat;
    int sum = 0;
    for (int round = 0; round < rounds; round++) {
        if (threadIdx.x == round % blockDim.x)
            seat = in[round % blockDim.x] + round;
        __syncthreads(); // needed
        sum += seat;
        __syncthreads(); // needed
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void twice(const int *in, int *out)
{
    __shared__ int line[1024];
    line[threadIdx.x] = in[threadIdx.x];
    __syncthreads(); // one of
    __syncthreads(); // one of
    out[threadIdx.x] = line[blockDim.x - 1 - threadIdx.x];
}

#define MEET __syncthreads(); __syncthreads()
extern "C" __global__ void twice_in_a_macro(const int *in, int *out)
{
    __shared__ int line[1024];
    line[threadIdx.x] = in[threadIdx.x];
    MEET; // one of
    out[threadIdx.x] = line[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void thrice(const int *in, int *out)
{
    __shared__ int line[1024];
    line[threadIdx.x] = in[threadIdx.x];
    __syncthreads(); // one of
    int own = threadIdx.x * 3;
    __syncthreads(); // one of
    own += in[threadIdx.x];
    __syncthreads(); // one of
    out[threadIdx.x] = line[blockDim.x - 1 - threadIdx.x] + own;
}

extern "C" __global__ void newline(const unsigned char *text, int *out)
{
    __shared__ int lines[1024];
    lines[threadIdx.x] = 0;
    int any = __syncthreads_or(text[threadIdx.x] == '\n'); // needed
    if (any) {
        lines[threadIdx.x] = text[threadIdx.x] == '\n';
        __syncthreads(); // needed
        out[threadIdx.x] = lines[(threadIdx.x + 1) % blockDim.x];
    }
}

extern "C" __global__ void more_than_a_thousand(const int *in, int *out, int n)
{
    __shared__ int line[1024];
    line[threadIdx.x] = in[threadIdx.x];
    if (n > 1000)
        __syncthreads(); // needed
    int from = n > 1000 ? blockDim.x - 1 - threadIdx.x : threadIdx.x;
    out[threadIdx.x] = line[from];
}

extern "C" __global__ void minus_five(const int *in, int *out, int delta)
{
    __shared__ int line[1024];
    line[threadIdx.x] = in[threadIdx.x];
    if (delta == -5) {
        __syncthreads(); // needed
        out[threadIdx.x] = line[(threadIdx.x + 5) % blockDim.x];
    }
}

extern "C" __global__ void third_block(const int *in, int *out)
{
    __shared__ int line[1024];
    line[threadIdx.x] = in[threadIdx.x];
    if (blockIdx.x == 2) {
        __syncthreads(); // needed
        out[threadIdx.x] = line[blockDim.x - 1 - threadIdx.x];
    }
}

extern "C" __global__ void third_warp_consumes(const int *in, int *out)
{
    __shared__ int box[32];
    if (threadIdx.x < 32)
        box[threadIdx.x] = in[threadIdx.x];
    __syncthreads(); // needed
    if (threadIdx.x >= 64 && threadIdx.x < 96)
        out[threadIdx.x - 64] = box[threadIdx.x - 64];
}

extern "C" __global__ void large_blocks(const int *in, int *out)
{
    __shared__ int line[1024];
    line[threadIdx.x] = in[threadIdx.x];
    if (blockDim.x > 128) {
        __syncthreads(); // needed
        out[threadIdx.x] = line[threadIdx.x ^ 1];
    } else {
        out[threadIdx.x] = line[threadIdx.x];
    }
}

extern "C" __global__ void odd_blocks(const int *in, int *out)
{
    __shared__ int line[1025];
    line[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x == 0)
        line[blockDim.x] = 0;
    if (blockDim.x % 2 == 1) {
        __syncthreads(); // needed
        out[threadIdx.x] = line[threadIdx.x + 1];
    } else {
        out[threadIdx.x] = line[threadIdx.x];
    }
}

extern "C" __global__ void transpose(const int *in, int *out)
{
    __shared__ int tile[16][17];
    int x = threadIdx.x, y = threadIdx.y;
    if (x < 16 && y < 16)
        tile[y][x] = in[y * 16 + x];
    __syncthreads(); // needed
    if (x < 16 && y < 16 && blockDim.x == 16 && blockDim.y == 16)
        out[y * 16 + x] = tile[x][y];
}

// The flag orders the data for who sees it, if the fence is there.
extern "C" __global__ void message(volatile int *data, volatile int *flag, int *out)
{
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) {
            data[0] = 42;
            __threadfence(); // needed
            flag[0] = 1;
        } else if (blockIdx.x == 1) {
            if (flag[0] == 1) {
                __threadfence(); // needed
                out[0] = data[0];
            }
        }
    }
}

// At least one of two blocks sees the other's flag; with both fences.
extern "C" __global__ void dekker(volatile int *flags, int *out)
{
    if (threadIdx.x == 0 && blockIdx.x < 2) {
        flags[blockIdx.x] = 1;
        __threadfence(); // needed
        if (flags[1 - blockIdx.x] == 0)
            atomicAdd(out, 1); // spare
        else
            atomicAdd(out + 1, 0); // needed
    }
}

extern "C" __global__ void counted(const int *in, int *count, int limit)
{
    if (in[threadIdx.x] > limit)
        atomicAdd(count, 1); // needed
}

extern "C" __global__ void largest(const int *in, int *out, int enabled)
{
    if (enabled == 9)
        atomicMax(out, in[threadIdx.x]); // needed
}

extern "C" __global__ void block_counter(int *out, int rounds)
{
    __shared__ int count;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads(); // needed
    for (int i = 0; i < rounds % 4; i++)
        atomicAdd(&count, 1); // needed
    __syncthreads(); // needed
    if (threadIdx.x == 0)
        out[0] = count;
}

extern "C" __global__ void pairs(const int *in, int *out, int pairs)
{
    __shared__ int line[1024];
    int i = threadIdx.x;
    line[i] = in[i];
    __syncthreads(); // needed
    if (2 * i + 1 < pairs && 2 * i + 1 < blockDim.x) {
        int low = min(line[2 * i], line[2 * i + 1]);
        out[i] = low;
    }
}

extern "C" __global__ void nothing_shared(const int *in, int *out)
{
    __shared__ int line[1024];
    line[threadIdx.x] = in[threadIdx.x];
    __syncthreads(); // spare
    out[threadIdx.x] = line[threadIdx.x] * 2;
}

extern "C" __global__ void named_barriers(const int *in, int *out)
{
    __shared__ int box[32];
    if (threadIdx.x < 32) {
        box[threadIdx.x] = in[threadIdx.x];
        asm volatile("bar.arrive 1, 64;" ::: "memory"); // needed
    } else if (threadIdx.x < 64) {
        asm volatile("bar.sync 1, 64;" ::: "memory"); // needed
        out[threadIdx.x - 32] = box[63 - threadIdx.x];
    }
}
