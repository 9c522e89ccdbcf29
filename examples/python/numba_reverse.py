"""A reversal in shared memory with Numba, with and without its barrier. Needs `numba` or `numba-cuda`; no GPU."""

import numpy as np
import racetrap.numba
from numba import cuda, int32

N = 64


@cuda.jit
def right(data):
    tile = cuda.shared.array(N, int32)
    i = cuda.threadIdx.x
    tile[i] = data[i]
    cuda.syncthreads()
    data[i] = tile[N - 1 - i]


@cuda.jit
def racy(data):
    tile = cuda.shared.array(N, int32)
    i = cuda.threadIdx.x
    tile[i] = data[i]  # the write
    data[i] = tile[N - 1 - i]  # the read


numbers = np.arange(N, dtype=np.int32)
racetrap.numba.check(right[1, N], numbers).raise_for_findings()
assert (numbers == np.arange(N)[::-1]).all()

report = racetrap.numba.check(racy[1, N], numbers)
print(report)
assert report.verdict == "findings"
