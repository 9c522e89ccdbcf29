// Multiplies square matrices of n rows: c = a * b, all stored row by row.
// Each block of 16 by 16 threads makes one tile of c.
#define TILE 16

__global__ void product(const float *a, const float *b, float *c, int n)
{
    __shared__ float left[TILE][TILE];
    __shared__ float right[TILE][TILE];

    // Go along a row of tiles of a and a column of tiles of b.
    // For each pair: bring both tiles into shared memory, then multiply them.
    // Mind that n need not be a multiple of TILE.

    // Write your element of c.
}
