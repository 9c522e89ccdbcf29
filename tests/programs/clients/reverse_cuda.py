"""Reverses a block of numbers with numba-cuda, in an array of NumPy's: `reverse_cuda.py right`, or `reverse_cuda.py wrong` without the barrier."""

import sys

import numpy as np
from numba import cuda, int32

N = 64


@cuda.jit(lineinfo=True)
def reverse(data, waits):
    tile = cuda.shared.array(N, int32)
    i = cuda.threadIdx.x
    tile[i] = data[i]  # the write
    if waits:
        cuda.syncthreads()
    data[i] = tile[N - 1 - i]  # the read


numbers = np.arange(N, dtype=np.int32)
reverse[1, N](numbers, sys.argv[1] == "right")  # the launch
print("reversed" if (numbers == np.arange(N)[::-1]).all() else "not reversed")
