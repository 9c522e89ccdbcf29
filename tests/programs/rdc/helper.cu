__device__ int offset = 100;
static __device__ int local(int x) { return 2 * x; }
__device__ int twice(int x) { return local(x); }
