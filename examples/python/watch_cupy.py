"""Kernels of CuPy within `racetrap.watch()`, on the simulated device, without a GPU: arrays are NumPy's."""

import cupy
import numpy as np
import racetrap

SOURCE = r"""
extern "C" __global__ void reverse(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = data[t];
#ifndef RACY
    __syncthreads();
#endif
    data[t] = tile[63 - t];
}
"""

data = np.arange(64, dtype=np.int32)
with racetrap.watch() as report:
    cupy.RawKernel(SOURCE, "reverse")((1,), (64,), (data,))
    module = cupy.RawModule(code=SOURCE)
    module.get_function("reverse")((1,), (64,), (data,))
    twice = cupy.ElementwiseKernel("T x", "T y", "y = 2 * x", "twice")(data)
report.raise_for_findings()
assert (data == np.arange(64)).all() and (twice == 2 * data).all()

with racetrap.watch() as racy:
    cupy.RawKernel(SOURCE, "reverse", options=("-DRACY",))((1,), (64,), (data,))
    shift = cupy.ElementwiseKernel("raw T x, int32 n", "T y", "y = x[(i + 1) % n]", "shift")
    shift(data, data.size, data)  # reads what other threads write
print(racy)
assert sorted(f.rule for f in racy.findings) == ["data-race", "data-race"], racy
