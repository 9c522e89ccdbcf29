"""Watches launches of Triton within a block: arrays of NumPy take the place of tensors. Needs `triton`; no GPU."""

import numpy as np
import racetrap
import triton
import triton.language as tl


@triton.jit
def copy(out, data, count, step, BLOCK: tl.constexpr):
    at = tl.program_id(0) * step + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(data + at, mask=at < count), mask=at < count)  # the store


data = np.arange(100, dtype=np.float32)
out = np.zeros_like(data)
with racetrap.watch() as right:
    copy[(triton.cdiv(100, 32),)](out, data, 100, 32, BLOCK=32)
right.raise_for_findings()
assert (out == data).all()

# Programs overlap: what one writes, another one reads.
with racetrap.watch() as racy:
    copy[lambda meta: (100 // meta["BLOCK"],)](out, out, 99, 16, BLOCK=32)
print(racy)
assert racy.verdict == "findings"
