// CUB's algorithms of the whole device, small and large enough for several tiles.

#include <algorithm>
#include <map>

#include "compare.h"

#include <cub/cub.cuh>

// Calls an algorithm twice: for the size of its scratch memory, and for its work.
#define TWICE(call)                                                                                                         \
    do {                                                                                                                    \
        void *scratch = nullptr;                                                                                            \
        size_t bytes = 0;                                                                                                   \
        CALL(call);                                                                                                         \
        CALL(cudaMalloc(&scratch, bytes));                                                                                  \
        CALL(call);                                                                                                         \
        CALL(cudaFree(scratch));                                                                                            \
    } while (0)

struct Even {
    __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};

struct Twice {
    __host__ __device__ int operator()(int x) const { return 2 * x; }
};

struct Add {
    int *to;
    __device__ void operator()(int i) const { to[i] += i; }
};

void reductions(int n) {
    auto in = Array<int>::of(n, [](int i) { return int(scatter(i) % 1000); });
    Array<int> out(1);
    TWICE(cub::DeviceReduce::Sum(scratch, bytes, in.device, out.device, n));
    int sum = 0;
    for (int x : in.host)
        sum += x;
    compare("DeviceReduce::Sum", out, 1, [&](int) { return sum; });
    TWICE(cub::DeviceReduce::Max(scratch, bytes, in.device, out.device, n));
    compare("DeviceReduce::Max", out, 1, [&](int) { return *std::max_element(in.host.begin(), in.host.end()); });
    Array<int> offsets(4);
    offsets.host = {0, n / 5, n / 5, n};
    offsets.put();
    Array<int> sums(3);
    TWICE(cub::DeviceSegmentedReduce::Sum(scratch, bytes, in.device, sums.device, 3, offsets.device, offsets.device + 1));
    compare("DeviceSegmentedReduce::Sum", sums, 3, [&](int k) {
        int sum = 0;
        for (int i = offsets.host[k]; i < offsets.host[k + 1]; ++i)
            sum += in.host[i];
        return sum;
    });
    auto keys = Array<int>::of(n, [](int i) { return i / 7; });
    Array<int> unique(n), totals(n), count(1);
    TWICE(cub::DeviceReduce::ReduceByKey(scratch, bytes, keys.device, unique.device, in.device, totals.device, count.device, cuda::std::plus<>{}, n));
    compare("DeviceReduce::ReduceByKey", totals, (n + 6) / 7, [&](int k) {
        int sum = 0;
        for (int i = k * 7; i < std::min(n, k * 7 + 7); ++i)
            sum += in.host[i];
        return sum;
    });
}

void scans(int n) {
    auto in = Array<int>::of(n, [](int i) { return int(scatter(i) % 1000); });
    Array<int> out(n);
    std::vector<int> until(n);
    for (int i = 0, sum = 0; i < n; ++i)
        until[i] = sum += in.host[i];
    TWICE(cub::DeviceScan::InclusiveSum(scratch, bytes, in.device, out.device, n));
    compare("DeviceScan::InclusiveSum", out, n, [&](int i) { return until[i]; });
    TWICE(cub::DeviceScan::ExclusiveSum(scratch, bytes, in.device, out.device, n));
    compare("DeviceScan::ExclusiveSum", out, n, [&](int i) { return until[i] - in.host[i]; });
    auto keys = Array<int>::of(n, [](int i) { return i / 100; });
    TWICE(cub::DeviceScan::InclusiveSumByKey(scratch, bytes, keys.device, in.device, out.device, n));
    compare("DeviceScan::InclusiveSumByKey", out, n, [&](int i) { return until[i] - (i >= 100 ? until[i / 100 * 100 - 1] : 0); });
}

void selections(int n) {
    auto in = Array<int>::of(n, [](int i) { return int(scatter(i) % 1000); });
    Array<int> out(n), count(1), counts(n);
    std::vector<int> even, odd;
    for (int x : in.host)
        (x % 2 ? odd : even).push_back(x);
    TWICE(cub::DeviceSelect::If(scratch, bytes, in.device, out.device, count.device, n, Even{}));
    compare("DeviceSelect::If", out, even.size(), [&](int i) { return even[i]; });
    TWICE(cub::DevicePartition::If(scratch, bytes, in.device, out.device, count.device, n, Even{}));
    compare("DevicePartition::If", out, n, [&](size_t i) { return i < even.size() ? even[i] : odd[n - 1 - i]; });
    auto runs = Array<int>::of(n, [](int i) { return i / 3 % 50; });
    TWICE(cub::DeviceSelect::Unique(scratch, bytes, runs.device, out.device, count.device, n));
    compare("DeviceSelect::Unique", out, (n + 2) / 3, [](int i) { return i % 50; });
    TWICE(cub::DeviceRunLengthEncode::Encode(scratch, bytes, runs.device, out.device, counts.device, count.device, n));
    compare("DeviceRunLengthEncode::Encode", counts, (n + 2) / 3, [&](int i) { return std::min(3, n - 3 * i); });
}

void sorts(int n) {
    auto in = Array<unsigned>::of(n, [](int i) { return scatter(i); });
    auto values = Array<unsigned>::of(n, [](int i) { return scatter(i) + 1; });
    Array<unsigned> keys(n), moved(n);
    auto order = in.host;
    std::sort(order.begin(), order.end());
    TWICE(cub::DeviceRadixSort::SortPairs(scratch, bytes, in.device, keys.device, values.device, moved.device, n));
    compare("DeviceRadixSort::SortPairs, keys", keys, n, [&](int i) { return order[i]; });
    compare("DeviceRadixSort::SortPairs, values", moved, n, [&](int i) { return order[i] + 1; });
    TWICE(cub::DeviceRadixSort::SortKeysDescending(scratch, bytes, in.device, keys.device, n));
    compare("DeviceRadixSort::SortKeysDescending", keys, n, [&](int i) { return order[n - 1 - i]; });
    CALL(cudaMemcpy(keys.device, in.device, n * sizeof(unsigned), cudaMemcpyDeviceToDevice));
    TWICE(cub::DeviceMergeSort::SortKeys(scratch, bytes, keys.device, n, cuda::std::less<>{}));
    compare("DeviceMergeSort::SortKeys", keys, n, [&](int i) { return order[i]; });
    Array<int> offsets(4);
    offsets.host = {0, n / 3, n / 3 + 5, n};
    offsets.put();
    auto parts = in.host;
    for (int k = 0; k < 3; ++k)
        std::sort(parts.begin() + offsets.host[k], parts.begin() + offsets.host[k + 1]);
    TWICE(cub::DeviceSegmentedSort::SortKeys(scratch, bytes, in.device, keys.device, n, 3, offsets.device, offsets.device + 1));
    compare("DeviceSegmentedSort::SortKeys", keys, n, [&](int i) { return parts[i]; });
}

void others(int n) {
    auto in = Array<int>::of(n, [](int i) { return int(scatter(i) % 1000); });
    Array<int> bins(16), out(n);
    TWICE(cub::DeviceHistogram::HistogramEven(scratch, bytes, in.device, bins.device, 17, 0, 1008, n));
    compare("DeviceHistogram::HistogramEven", bins, 16, [&](int bin) { return std::count_if(in.host.begin(), in.host.end(), [&](int x) { return x / 63 == bin; }); });
    CALL(cub::DeviceTransform::Transform(in.device, out.device, n, Twice{}));
    compare("DeviceTransform::Transform", out, n, [&](int i) { return 2 * in.host[i]; });
    CALL(cub::DeviceFor::Bulk(n, Add{out.device}));
    compare("DeviceFor::Bulk", out, n, [&](int i) { return 2 * in.host[i] + i; });
    TWICE(cub::DeviceAdjacentDifference::SubtractLeftCopy(scratch, bytes, in.device, out.device, n, cuda::std::minus<>{}));
    compare("DeviceAdjacentDifference::SubtractLeftCopy", out, n, [&](int i) { return in.host[i] - (i ? in.host[i - 1] : 0); });
}

int main(int argc, char **argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 10000;
    reductions(n);
    scans(n);
    selections(n);
    sorts(n);
    others(n);
    return wrong != 0;
}
