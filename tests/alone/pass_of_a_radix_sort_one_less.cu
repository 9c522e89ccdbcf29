// wrong: out-of-bounds
// One too far to the left. A pass of a radix sort: where an element goes follows from sums that an earlier kernel made. Guessed ones lead before the array.
__global__ void pass_of_a_radix_sort_one_less(const unsigned *in, unsigned *out, const unsigned *zeros_before, int n, int bit) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned value = in[i];
        int zeros = zeros_before[n - 1];
        out[(value >> bit & 1) ? i - zeros_before[i] + zeros : i - (int)zeros_before[i] - 1] = value;
    }
}
