"""Watches launches of Numba within a block: no other call is changed. Needs `numba` or `numba-cuda`; no GPU."""

import numpy as np
import racetrap

with racetrap.watch() as right:
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
    reverse[1, N](numbers, True)
right.raise_for_findings()
assert (numbers == np.arange(N)[::-1]).all()

with racetrap.watch() as racy:
    reverse[1, N](numbers, False)
print(racy)
assert racy.verdict == "findings"
