#include "reversed.cuh"

__device__ int reversed(int t, int n) { return n - 1 - t; }
