// Where an element of a block's tile goes.
__device__ int reversed(int t, int n);

// Reverses n numbers of the device, without a barrier.
void reverse(int *data, int n);
