// tile-ai/TileOPs#1405: results pass through a staging tile in shared memory with another layout, and no barrier lies around the exchange.
// told: data-race
#include "../compare.h"

__global__ void turned(float *out, const float *in, int rounds)
{
    __shared__ float staged[16 * 16];
    int t = threadIdx.x;
    for (int round = 0; round < rounds; ++round) {
        staged[t % 16 * 16 + t / 16] = in[round * 256 + t]; //~
#ifdef FIXED
        __syncthreads();
#endif
        out[round * 256 + t] = staged[t]; //~
#ifdef FIXED
        __syncthreads();
#endif
    }
}

int main()
{
    auto in = Array<float>::of(512, [](int i) { return float(i); });
    Array<float> out(512);
    turned<<<1, 256>>>(out.device, in.device, 2);
    compare("turned", out, 512, [](int i) { return float(i / 256 * 256 + i % 16 * 16 + i % 256 / 16); });
}
