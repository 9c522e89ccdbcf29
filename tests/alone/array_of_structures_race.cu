// wrong: data-race
// Structures in memory that hold addresses, and a race that has nothing to do with them.
struct Part {
    float *data;
    int length;
};

__global__ void array_of_structures_race(Part *parts, int count) {
    __shared__ int longest;
    int k = blockIdx.x;
    if (k < count) {
        longest = max(threadIdx.x, parts[k].length);
        for (int i = threadIdx.x; i < parts[k].length; i += blockDim.x) parts[k].data[i] = longest;
    }
}
