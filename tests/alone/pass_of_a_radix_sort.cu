// doubtful: out-of-bounds
// A pass of a radix sort: where an element goes follows from sums that an earlier kernel made. Guessed ones lead before the array.
__global__ void pass_of_a_radix_sort(const unsigned *in, unsigned *out, const unsigned *zeros_before, int n, int bit) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned value = in[i];
        int zeros = zeros_before[n - 1];
        out[(value >> bit & 1) ? i - zeros_before[i] + zeros : i - zeros_before[i]] = value;
    }
}
