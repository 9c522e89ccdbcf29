"""A matrix product, a histogram and a reduction in steps with Triton: `tl.dot`, `tl.atomic_add` and `tl.debug_barrier`, each right and, but for
the product, racy. Needs `triton`; no GPU."""

import numpy as np
import racetrap.triton
import triton
import triton.language as tl


@triton.jit
def product(out, a, b, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for step in range(0, N, BLOCK):
        k = step + tl.arange(0, BLOCK)
        total += tl.dot(tl.load(a + i[:, None] * N + k[None, :]), tl.load(b + k[:, None] * N + j[None, :]))
    tl.store(out + i[:, None] * N + j[None, :], total)


@triton.jit
def histogram(bins, data, ATOMIC: tl.constexpr, BLOCK: tl.constexpr):
    which = tl.load(data + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    if ATOMIC:
        tl.atomic_add(bins + which, 1)
    else:
        tl.store(bins + which, tl.load(bins + which) + 1)  # the store


@triton.jit
def shift(data, WAIT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(data + at, at)  # the write
    if WAIT:
        tl.debug_barrier()
    tl.store(data + BLOCK + at, tl.load(data + (at + 1) % BLOCK))  # the read


random = np.random.default_rng(1)
a, b = (random.standard_normal((64, 64)).astype(np.float16) for _ in "ab")
out = np.zeros((64, 64), np.float32)
report = racetrap.triton.check(
    product, (2, 2), out, a, b, N=64, BLOCK=32, tolerance=1e-2, reference=lambda out, a, b: {"out": a.astype(np.float32) @ b.astype(np.float32)}
)
report.raise_for_findings()

data, bins = random.integers(0, 16, 512, dtype=np.int32), np.zeros(16, np.int32)
report = racetrap.triton.check(histogram, (4,), bins, data, ATOMIC=True, BLOCK=128, reference=lambda bins, data: {"bins": np.bincount(data)})
report.raise_for_findings()
racy_histogram = racetrap.triton.check(histogram, (4,), bins, data, ATOMIC=False, BLOCK=128)
print(racy_histogram)
assert racy_histogram.verdict == "findings"

cells = np.zeros(512, np.int32)
racetrap.triton.check(shift, (1,), cells, WAIT=True, BLOCK=256).raise_for_findings()
report = racetrap.triton.check(shift, (1,), cells, WAIT=False, BLOCK=256)
print(report)
assert report.verdict == "findings"
