// doubtful: out-of-bounds
// Structures in memory that hold addresses: only the host program knows where they lead.
struct Part {
    float *data;
    int length;
};

__global__ void array_of_structures(Part *parts, int count) {
    int k = blockIdx.x;
    if (k < count)
        for (int i = threadIdx.x; i < parts[k].length; i += blockDim.x) parts[k].data[i] *= 2;
}
