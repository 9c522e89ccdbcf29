// Clusters: launches by attribute and by what the kernel says, what is refused, and what occupancy says.
//~ nvcc -arch=sm_90
//~ on sm_90 right: clean
//~ on sm_90 declared: clean
//~ on sm_90 refused: clean
//~ on sm_90 early: data-race@24,26
//~ on sm_90 leaves: cluster-memory@26,31
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
namespace cg = cooperative_groups;

#define REQUIRE(x) do { if (!(x)) { printf("%d: %s\n", __LINE__, #x); exit(3); } } while (0)
#define CHECK(call) REQUIRE((call) == cudaSuccess)

// Each block gets the words of the next one of its cluster.
__device__ void take(int *out, const int *in, bool early, bool leaves)
{
    __shared__ int mine[64];
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    cluster.sync();
    mine[t] = in[i];
    early ? __syncthreads() : cluster.sync();
    int theirs = cluster.map_shared_rank(mine, (cluster.block_rank() + 1) % cluster.num_blocks())[t];
    if (!leaves)
        cluster.sync();
    out[i] = theirs;
}
__global__ void by_attribute(int *out, const int *in, bool early, bool leaves) { take(out, in, early, leaves); }
__global__ void __cluster_dims__(4, 1, 1) by_itself(int *out, const int *in) { take(out, in, false, false); }

int main(int argc, char **argv)
{
    auto is = [&](const char *what) { return argc > 1 && !strcmp(argv[1], what); };
    const int blocks = 8, n = blocks * 64;
    int *in, *out, host[n], size = is("declared") ? 4 : 2;
    CHECK(cudaMalloc(&in, sizeof host));
    CHECK(cudaMalloc(&out, sizeof host));
    for (int i = 0; i < n; i++)
        host[i] = 3 * i;
    CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = size;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t how = {};
    how.gridDim = blocks;
    how.blockDim = 64;
    how.attrs = &attribute;
    how.numAttrs = 1;
    if (is("declared")) {
        by_itself<<<blocks, 64>>>(out, in);
        cudaFuncAttributes known;
        CHECK(cudaFuncGetAttributes(&known, by_itself));
        REQUIRE(known.requiredClusterWidth == 4 && known.requiredClusterDepth == 1 && !known.clusterDimMustBeSet);
    } else if (is("refused")) {
        for (int size : {3, 16, 0}) { // no part of the grid, larger than all GPUs take, none
            attribute.val.clusterDim.x = size;
            REQUIRE(cudaLaunchKernelEx(&how, by_attribute, out, (const int *)in, false, false) == cudaErrorInvalidClusterSize);
            REQUIRE(cudaGetLastError() == cudaErrorInvalidClusterSize);
        }
        attribute.val.clusterDim.x = 8;
        CHECK(cudaLaunchKernelEx(&how, by_attribute, out, (const int *)in, false, false));
    } else {
        int clusters, most;
        CHECK(cudaOccupancyMaxActiveClusters(&clusters, by_attribute, &how));
        CHECK(cudaOccupancyMaxPotentialClusterSize(&most, by_attribute, &how));
        REQUIRE(clusters > 0 && most == 8);
        CHECK(cudaFuncSetAttribute(by_attribute, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
        CHECK(cudaOccupancyMaxPotentialClusterSize(&most, by_attribute, &how));
        REQUIRE(most == 16);
        CHECK(cudaLaunchKernelEx(&how, by_attribute, out, (const int *)in, is("early"), is("leaves")));
    }
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n && (is("right") || is("declared")); i++) {
        int b = i / 64, next = b / size * size + (b % size + 1) % size;
        REQUIRE(host[i] == 3 * (next * 64 + i % 64));
    }
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    return 0;
}
