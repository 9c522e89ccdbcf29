// A matrix product: register tiles of 4×4, vector loads, two buffers, one barrier a step.
//
// flags: --grid 1 --block 64 --arg 0=f32[1024]:uninitialized --arg 1=f32[1024]:random:-1..=1 --arg 2=f32[1024]:random:-1..=1
// expect: clean

__global__ void multiply(float *c, const float *a, const float *b)
{
    __shared__ float as[2][8][32], bs[2][8][32];
    int t = threadIdx.x;
    int row = t / 8 * 4, column = t % 8 * 4;
    float sum[4][4] = {};
    auto load = [&](int buffer, int k) {
        int i = t / 8, j = t % 8 * 4;
        *reinterpret_cast<float4 *>(&as[buffer][i][j]) = *reinterpret_cast<const float4 *>(&a[(k + i) * 32 + j]);
        *reinterpret_cast<float4 *>(&bs[buffer][i][j]) = __ldg(reinterpret_cast<const float4 *>(&b[(k + i) * 32 + j]));
    };
    load(0, 0);
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 32; k += 8) {
        int buffer = k / 8 % 2;
        if (k + 8 < 32)
            load(buffer ^ 1, k + 8);
        for (int i = 0; i < 8; i++) {
            float4 x = *reinterpret_cast<float4 *>(&as[buffer][i][row]);
            float4 y = *reinterpret_cast<float4 *>(&bs[buffer][i][column]);
            float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
            for (int p = 0; p < 4; p++)
                for (int q = 0; q < 4; q++)
                    sum[p][q] += xs[p] * ys[q];
        }
        __syncthreads();
    }
    for (int p = 0; p < 4; p++)
        *reinterpret_cast<float4 *>(&c[(row + p) * 32 + column]) = make_float4(sum[p][0], sum[p][1], sum[p][2], sum[p][3]);
}
