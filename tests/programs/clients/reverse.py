"""Reverses a block of numbers with Numba: `reverse.py right`, or `reverse.py wrong` without the barrier."""

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


numbers = cuda.to_device(np.arange(N, dtype=np.int32))  # the allocation
reverse[1, N](numbers, sys.argv[1] == "right")  # the launch
reversed_numbers = numbers.copy_to_host()
print("reversed" if (reversed_numbers == np.arange(N)[::-1]).all() else "not reversed")
