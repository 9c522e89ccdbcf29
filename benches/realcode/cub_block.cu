// CUB's algorithms of a block and of a warp, with every implementation that each offers.

#include "compare.h"

#include <algorithm>

#include <cub/cub.cuh>

constexpr int THREADS = 128;
constexpr int ITEMS = 4;
constexpr int TILE = THREADS * ITEMS;

template <cub::BlockReduceAlgorithm HOW> __global__ void reduce(int *out, const int *in) {
    using Reduce = cub::BlockReduce<int, THREADS, HOW>;
    __shared__ typename Reduce::TempStorage storage;
    int items[ITEMS];
    cub::LoadDirectBlocked(threadIdx.x, in, items);
    int sum = Reduce(storage).Sum(items);
    __syncthreads();
    int largest = Reduce(storage).Reduce(items[0], cuda::maximum<>{});
    if (threadIdx.x == 0) {
        out[0] = sum;
        out[1] = largest;
    }
}

template <cub::BlockScanAlgorithm HOW> __global__ void scan(int *out, const int *in) {
    using Scan = cub::BlockScan<int, THREADS, HOW>;
    __shared__ typename Scan::TempStorage storage;
    int items[ITEMS], total;
    cub::LoadDirectBlocked(threadIdx.x, in, items);
    Scan(storage).ExclusiveSum(items, items, total);
    cub::StoreDirectBlocked(threadIdx.x, out, items);
}

template <cub::BlockLoadAlgorithm LOAD, cub::BlockStoreAlgorithm STORE> __global__ void move(int *out, const int *in, int valid) {
    using Load = cub::BlockLoad<int, THREADS, ITEMS, LOAD>;
    using Store = cub::BlockStore<int, THREADS, ITEMS, STORE>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
    } storage;
    int items[ITEMS];
    Load(storage.load).Load(in, items, valid, -1);
    __syncthreads();
    for (int k = 0; k < ITEMS; ++k)
        items[k] = items[k] * 2 + 1;
    Store(storage.store).Store(out, items, valid);
}

__global__ void radix_sort(unsigned *out, const unsigned *in) {
    using Sort = cub::BlockRadixSort<unsigned, THREADS, ITEMS, unsigned>;
    __shared__ typename Sort::TempStorage storage;
    unsigned keys[ITEMS], values[ITEMS];
    cub::LoadDirectBlocked(threadIdx.x, in, keys);
    for (int k = 0; k < ITEMS; ++k)
        values[k] = keys[k] + 1;
    Sort(storage).SortBlockedToStriped(keys, values);
    cub::StoreDirectStriped<THREADS>(threadIdx.x, out, values);
}

__global__ void merge_sort(unsigned *out, const unsigned *in) {
    using Sort = cub::BlockMergeSort<unsigned, THREADS, ITEMS>;
    __shared__ typename Sort::TempStorage storage;
    unsigned keys[ITEMS];
    cub::LoadDirectBlocked(threadIdx.x, in, keys);
    Sort(storage).StableSort(keys, cuda::std::less<>{});
    cub::StoreDirectBlocked(threadIdx.x, out, keys);
}

template <cub::BlockHistogramAlgorithm HOW> __global__ void histogram(int *out, const unsigned *in) {
    using Histogram = cub::BlockHistogram<unsigned char, THREADS, ITEMS, 64, HOW>;
    __shared__ typename Histogram::TempStorage storage;
    __shared__ int bins[64];
    unsigned char items[ITEMS];
    for (int k = 0; k < ITEMS; ++k)
        items[k] = in[threadIdx.x * ITEMS + k] % 64;
    Histogram(storage).Histogram(items, bins);
    __syncthreads();
    if (threadIdx.x < 64)
        out[threadIdx.x] = bins[threadIdx.x];
}

__global__ void exchange(int *out, const int *in) {
    using Exchange = cub::BlockExchange<int, THREADS, ITEMS>;
    __shared__ typename Exchange::TempStorage storage;
    int items[ITEMS], ranks[ITEMS];
    cub::LoadDirectStriped<THREADS>(threadIdx.x, in, items);
    Exchange(storage).StripedToBlocked(items);
    __syncthreads();
    for (int k = 0; k < ITEMS; ++k)
        ranks[k] = TILE - 1 - (threadIdx.x * ITEMS + k);
    Exchange(storage).ScatterToStriped(items, ranks);
    cub::StoreDirectStriped<THREADS>(threadIdx.x, out, items);
}

__global__ void neighbours(int *out, const int *in) {
    using Flags = cub::BlockDiscontinuity<int, THREADS>;
    using Difference = cub::BlockAdjacentDifference<int, THREADS>;
    __shared__ union {
        typename Flags::TempStorage flags;
        typename Difference::TempStorage difference;
    } storage;
    int items[ITEMS], heads[ITEMS], steps[ITEMS];
    for (int k = 0; k < ITEMS; ++k)
        items[k] = in[threadIdx.x * ITEMS + k] / 500;
    Flags(storage.flags).FlagHeads(heads, items, cuda::std::not_equal_to<>{});
    __syncthreads();
    Difference(storage.difference).SubtractLeft(items, steps, cuda::std::minus<>{});
    for (int k = 0; k < ITEMS; ++k)
        out[threadIdx.x * ITEMS + k] = heads[k] * 100 + steps[k];
}

__global__ void run_lengths(int *out) {
    using Decode = cub::BlockRunLengthDecode<int, THREADS, 1, 2>;
    __shared__ typename Decode::TempStorage storage;
    int value[1] = {int(threadIdx.x)}, length[1] = {int(threadIdx.x % 4)}, total;
    Decode decode(storage, value, length, total);
    for (int from = 0; from < total; from += THREADS * 2) {
        int items[2];
        decode.RunLengthDecode(items, from);
        for (int k = 0; k < 2; ++k)
            if (from + int(threadIdx.x) * 2 + k < total)
                out[from + threadIdx.x * 2 + k] = items[k];
        __syncthreads();
    }
}

template <int WIDTH> __global__ void of_a_warp(int *out, const int *in) {
    using Reduce = cub::WarpReduce<int, WIDTH>;
    using Scan = cub::WarpScan<int, WIDTH>;
    __shared__ union {
        typename Reduce::TempStorage reduce;
        typename Scan::TempStorage scan;
    } storage[THREADS / WIDTH];
    int i = threadIdx.x, group = i / WIDTH, value = in[i], until;
    int sum = Reduce(storage[group].reduce).Sum(value);
    __syncwarp();
    Scan(storage[group].scan).InclusiveSum(value, until);
    out[i] = until + (i % WIDTH == 0 ? sum : 0);
}

__global__ void warp_sort(unsigned *out, const unsigned *in) {
    using Sort = cub::WarpMergeSort<unsigned, ITEMS>;
    __shared__ typename Sort::TempStorage storage[THREADS / 32];
    unsigned keys[ITEMS];
    cub::LoadDirectBlocked(threadIdx.x, in, keys);
    Sort(storage[threadIdx.x / 32]).Sort(keys, cuda::std::less<>{});
    cub::StoreDirectBlocked(threadIdx.x, out, keys);
}

int main() {
    auto in = Array<int>::of(TILE, [](int i) { return int(scatter(i) % 1000); });
    auto keys = Array<unsigned>::of(TILE, [](int i) { return scatter(i); });
    Array<int> out(TILE);
    Array<unsigned> sorted(TILE);
    auto reduced = [&](int i) {
        int sum = 0, largest = 0;
        for (int k = 0; k < TILE; ++k) {
            sum += in.host[k];
            largest = k % ITEMS == 0 && in.host[k] > largest ? in.host[k] : largest;
        }
        return i ? largest : sum;
    };
    reduce<cub::BLOCK_REDUCE_RAKING><<<1, THREADS>>>(out.device, in.device);
    compare("BlockReduce, raking", out, 2, reduced);
    reduce<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY><<<1, THREADS>>>(out.device, in.device);
    compare("BlockReduce, raking, commutative", out, 2, reduced);
    reduce<cub::BLOCK_REDUCE_WARP_REDUCTIONS><<<1, THREADS>>>(out.device, in.device);
    compare("BlockReduce, by warps", out, 2, reduced);
    std::vector<int> before(TILE);
    for (int i = 1; i < TILE; ++i)
        before[i] = before[i - 1] + in.host[i - 1];
    auto scanned = [&](int i) { return before[i]; };
    scan<cub::BLOCK_SCAN_RAKING><<<1, THREADS>>>(out.device, in.device);
    compare("BlockScan, raking", out, TILE, scanned);
    scan<cub::BLOCK_SCAN_RAKING_MEMOIZE><<<1, THREADS>>>(out.device, in.device);
    compare("BlockScan, raking, memoised", out, TILE, scanned);
    scan<cub::BLOCK_SCAN_WARP_SCANS><<<1, THREADS>>>(out.device, in.device);
    compare("BlockScan, by warps", out, TILE, scanned);
    int valid = TILE - 37;
    auto moved = [&](int i) { return in.host[i] * 2 + 1; };
    move<cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT><<<1, THREADS>>>(out.device, in.device, valid);
    compare("BlockLoad, BlockStore, direct", out, valid, moved);
    move<cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE><<<1, THREADS>>>(out.device, in.device, TILE);
    compare("BlockLoad, BlockStore, vectors", out, TILE, moved);
    move<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE><<<1, THREADS>>>(out.device, in.device, valid);
    compare("BlockLoad, BlockStore, transposed", out, valid, moved);
    move<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE><<<1, THREADS>>>(out.device, in.device, valid);
    compare("BlockLoad, BlockStore, transposed by warps", out, valid, moved);
    move<cub::BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED, cub::BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED><<<1, THREADS>>>(out.device, in.device, valid);
    compare("BlockLoad, BlockStore, one warp after another", out, valid, moved);
    auto order = keys.host;
    std::sort(order.begin(), order.end());
    radix_sort<<<1, THREADS>>>(sorted.device, keys.device);
    compare("BlockRadixSort", sorted, TILE, [&](int i) { return order[i] + 1; });
    merge_sort<<<1, THREADS>>>(sorted.device, keys.device);
    compare("BlockMergeSort", sorted, TILE, [&](int i) { return order[i]; });
    auto counted = [&](int bin) {
        int count = 0;
        for (unsigned key : keys.host)
            count += key % 64 == unsigned(bin);
        return count;
    };
    histogram<cub::BLOCK_HISTO_SORT><<<1, THREADS>>>(out.device, keys.device);
    compare("BlockHistogram, sort", out, 64, counted);
    histogram<cub::BLOCK_HISTO_ATOMIC><<<1, THREADS>>>(out.device, keys.device);
    compare("BlockHistogram, atomics", out, 64, counted);
    exchange<<<1, THREADS>>>(out.device, in.device);
    compare("BlockExchange", out, TILE, [&](int i) { return in.host[TILE - 1 - i]; });
    neighbours<<<1, THREADS>>>(out.device, in.device);
    compare("BlockDiscontinuity, BlockAdjacentDifference", out, TILE, [&](int i) {
        int here = in.host[i] / 500, left = i ? in.host[i - 1] / 500 : 0;
        return i ? (here != left) * 100 + here - left : 100 + here;
    });
    std::vector<int> decoded;
    for (int i = 0; i < THREADS; ++i)
        decoded.insert(decoded.end(), i % 4, i);
    run_lengths<<<1, THREADS>>>(out.device);
    compare("BlockRunLengthDecode", out, decoded.size(), [&](int i) { return decoded[i]; });
    auto of_group = [&](int width) {
        return [&, width](int i) {
            int base = i / width * width, sum = 0, until = 0;
            for (int k = base; k < base + width; ++k) {
                sum += in.host[k];
                until += k <= i ? in.host[k] : 0;
            }
            return until + (i == base ? sum : 0);
        };
    };
    of_a_warp<32><<<1, THREADS>>>(out.device, in.device);
    compare("WarpReduce, WarpScan", out, THREADS, of_group(32));
    of_a_warp<8><<<1, THREADS>>>(out.device, in.device);
    compare("WarpReduce, WarpScan, 8 lanes", out, THREADS, of_group(8));
    warp_sort<<<1, THREADS>>>(sorted.device, keys.device);
    compare("WarpMergeSort", sorted, TILE, [&](int i) {
        std::vector<unsigned> part(keys.host.begin() + i / 128 * 128, keys.host.begin() + i / 128 * 128 + 128);
        std::sort(part.begin(), part.end());
        return part[i % 128];
    });
    return wrong != 0;
}
