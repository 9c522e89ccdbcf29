// right
// Keeps the k smallest distances of each column in its first k rows, in order. It is called with k = 1 or more: with 0 there is no row to
// compare with.
__global__ void keep_nearest(float *distance, int width, int height, int k)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= width)
        return;
    float *mine = distance + column;
    int last = (k - 1) * width;
    for (int row = k; row < height; row++) {
        float found = mine[row * width];
        if (found < mine[last]) {
            int at = k - 1;
            while (at > 0 && mine[(at - 1) * width] > found) {
                mine[at * width] = mine[(at - 1) * width];
                at--;
            }
            mine[at * width] = found;
        }
    }
}
