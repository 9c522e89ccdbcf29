"""An elementwise kernel of CuPy, right and with a raw array whose neighbour another thread writes. Needs the CUDA compiler (`racetrap setup`);
no GPU. CuPy's own `ElementwiseKernel` objects are taken, too."""

import numpy as np
import racetrap.cupy
from racetrap.cupy import Elementwise

square = Elementwise("T x, float32 scale", "T y", "y = scale * x * x", "square")
x = np.arange(1000, dtype=np.float32)
y = np.zeros_like(x)
racetrap.cupy.check_elementwise(square, x, np.float32(3), y).raise_for_findings()
assert np.allclose(y, 3 * x * x)

smooth = Elementwise("", "raw float32 a", "a[i] = a[i] + a[(i + 1) % n]", "smooth")
report = racetrap.cupy.check_elementwise(smooth, x, size=1000)
print(report)
assert report.verdict == "findings"
