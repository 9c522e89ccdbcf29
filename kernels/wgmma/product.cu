// Product of 64 rows by 8 columns, 32 of the inner dimension at a time, by one warpgroup (`wgmma`, PTX ISA, "Asynchronous Warpgroup Level
// Matrix Multiply-Accumulate Instructions"). While a product reads one stage, the threads fill the other one.

constexpr int INNER = 32;

/// A part of one factor in shared memory: matrices of 8 rows of 16 bytes, two of them along the inner dimension, then the next 8 rows.
template <int ROWS> struct alignas(128) Tile {
    int4 pieces[2 * ROWS];

    /// Copies 16 bytes of a row.
    __device__ void fill(int row, int half, const signed char *from)
    {
        pieces[row / 8 * 16 + half * 8 + row % 8] = *reinterpret_cast<const int4 *>(from); //~[no-proxy-fence] missing-proxy-fence#1 write //~[reused-early] async-copy-hazard#1 write
    }

    /// Descriptor of the tile ("Matrix Descriptor"): 128 bytes between the two halves, 256 between groups of 8 rows, no swizzle.
    __device__ unsigned long long descriptor() const
    {
        unsigned long long at = __cvta_generic_to_shared(pieces);
        return at >> 4 | 128ull >> 4 << 16 | 256ull >> 4 << 32;
    }
};

__device__ void multiply(int (&sums)[4], const Tile<64> &a, const Tile<8> &b)
{
    unsigned long long left = a.descriptor();
    unsigned long long right = b.descriptor();
    asm volatile("{\n\t.reg .pred adds;\n\tsetp.ne.b32 adds, 1, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%0, %1, %2, %3}, %4, %5, adds;\n\t}"
                 : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
                 : "l"(left), "l"(right) //~[read-early, reused-early] async-copy-hazard#1 multiply //~[read-early] async-copy-hazard#2 multiply //~[no-fence] async-copy-hazard multiply //~[no-proxy-fence] missing-proxy-fence#1 multiply
                 : "memory");
}

template <int GROUPS> __device__ void wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(GROUPS) : "memory");
}

/// `a`: 64 rows, `b`: 8 rows, each of `tiles` times 32 elements.
__global__ void __launch_bounds__(128) product(int *out, const signed char *a, const signed char *b, int tiles)
{
    __shared__ Tile<64> first[2];
    __shared__ Tile<8> second[2];
    int t = threadIdx.x;
    int row = t / 2;
    int half = t % 2;
    int sums[4] = {};
    for (int k = 0; k < tiles; k++) {
        int at = k * INNER + half * 16;
        first[k % 2].fill(row, half, a + row * tiles * INNER + at);
        if (row < 8)
            second[k % 2].fill(row, half, b + row * tiles * INNER + at);
#ifndef BUG_NO_PROXY_FENCE
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
        __syncthreads();
#ifndef BUG_NO_FENCE
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
        multiply(sums, first[k % 2], second[k % 2]);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#ifdef BUG_REUSED_EARLY
        wait<2>();
#else
        wait<1>(); // the product before this one, which used the other stage
#endif
        __syncthreads();
    }
#ifndef BUG_READ_EARLY
    wait<0>();
#endif
    for (int r = 0; r < 4; r++)
        out[(t / 32 * 16 + t % 32 / 4 + r / 2 * 8) * 8 + t % 4 * 2 + r % 2] = sums[r]; //~[read-early] async-copy-hazard#1 read
} //~[read-early] async-copy-hazard#2 exit

/// The same by one thread.
__global__ void product_reference(int *out, const signed char *a, const signed char *b, int tiles)
{
    for (int i = 0; i < 64 * 8; i++) {
        out[i] = 0;
        for (int k = 0; k < tiles * INNER; k++)
            out[i] += a[i / 8 * tiles * INNER + k] * b[i % 8 * tiles * INNER + k];
    }
}
