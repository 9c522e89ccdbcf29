"""A reversal in shared memory with CuPy, with and without its barrier. Needs the CUDA compiler (`racetrap setup`); no GPU. CuPy's own
`RawKernel` objects are taken, too."""

import numpy as np
import racetrap.cupy

SOURCE = """
extern "C" __global__ void reverse(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = data[t];
#ifdef WAITS
    __syncthreads();
#endif
    data[t] = tile[63 - t];
}
"""

numbers = np.arange(64, dtype=np.int32)
racetrap.cupy.check(SOURCE, (1,), (64,), (numbers,), name="reverse", defines=["WAITS"]).raise_for_findings()
assert (numbers == np.arange(64)[::-1]).all()

report = racetrap.cupy.check(SOURCE, (1,), (64,), (numbers,), name="reverse")
print(report)
assert report.verdict == "findings"
