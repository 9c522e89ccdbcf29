// Inclusive prefix sum of more elements than one block has room for: each block scans a tile, and then needs the sum of
// all tiles before its own.
//
// Either three launches (the tiles, their totals, the sums added back), or one, in which each block looks back at the
// blocks before it and waits for what they publish.

extern __shared__ int tile[];

/// Inclusive scan over the block's values; all its threads call it.
__device__ int scan_block(int value)
{
    int t = threadIdx.x;
    tile[t] = value;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        int left = t >= d ? tile[t - d] : 0;
        __syncthreads();
        tile[t] += left;
        __syncthreads();
    }
    return tile[t];
}

/// First launch: scans every tile on its own and keeps its total.
__global__ void scan_tiles(int *out, int *totals, const int *in, int n)
{
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    int sum = scan_block(i < n ? in[i] : 0);
    if (i < n)
        out[i] = sum;
    if (t == blockDim.x - 1)
        totals[blockIdx.x] = sum;
}

/// Second launch, one block, a thread for each tile: what lies before each tile, in the place of its total.
__global__ void scan_totals(int *totals)
{
    int t = threadIdx.x;
    int total = totals[t];
    totals[t] = scan_block(total) - total; //~[add-back-elsewhere] data-race write
}

/// Third launch: adds it to the tile.
__global__ void add_back(int *out, const int *before, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] += before[blockIdx.x]; //~[add-back-elsewhere] data-race read
}

// What a tile has published: nothing, its own total, or the sum of all up to its end.
#define NOTHING 0
#define TOTAL 1
#define PREFIX 2

/// Publishes a tile's value: first the value, then, behind a fence, the flag that says that it is there.
__device__ void publish(int *values, int *flags, int tile_number, int value, int flag)
{
    values[tile_number] = value; //~[flag-before-fence, flag-without-acquire] data-race#1 write, data-race#2 write
#ifdef BUG_FLAG_BEFORE_FENCE
    *(volatile int *)&flags[tile_number] = flag; // may be seen before the value
    __threadfence();
#else
    __threadfence();
    *(volatile int *)&flags[tile_number] = flag;
#endif
}

/// Waits until a tile has published something, and says what.
__device__ int await(const int *flags, int tile_number)
{
    int flag;
    do
        flag = *(const volatile int *)&flags[tile_number];
    while (flag == NOTHING);
#ifndef BUG_FLAG_WITHOUT_ACQUIRE
    __threadfence();
#endif
    return flag;
}

/// One launch. Tiles are numbered in the order in which blocks start, so that those before a running block have started, too.
__global__ void scan_look_back(int *out, int *totals, int *prefixes, int *flags, int *next_tile, const int *in, int n)
{
    __shared__ int tile_number, before;
    int t = threadIdx.x;
    if (t == 0)
        tile_number = atomicAdd(next_tile, 1);
    __syncthreads();

    int i = tile_number * blockDim.x + t;
    int sum = scan_block(i < n ? in[i] : 0);

    if (t == blockDim.x - 1) {
        publish(totals, flags, tile_number, sum, TOTAL);
        before = 0;
        for (int back = tile_number - 1; back >= 0; back--) {
            if (await(flags, back) == PREFIX) {
                before += prefixes[back]; //~[flag-before-fence, flag-without-acquire] data-race#1 read
                break;
            }
            before += totals[back]; //~[flag-before-fence, flag-without-acquire] data-race#2 read
        }
        publish(prefixes, flags, tile_number, before + sum, PREFIX);
    }
    __syncthreads();

    if (i < n)
        out[i] = before + sum;
}
