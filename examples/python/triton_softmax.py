"""A softmax of rows with Triton, right and with a row that two programs write. Needs `triton`; no GPU."""

import numpy as np
import racetrap.triton
import triton
import triton.language as tl


@triton.jit
def softmax(out, data, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(data + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def racy(out, data, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(data + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row // 2 * columns + at, powers / tl.sum(powers, axis=0), mask=at < columns)  # the store


data = np.random.default_rng(1).standard_normal((4, 100)).astype(np.float32)
out = np.zeros_like(data)
racetrap.triton.check(softmax, (4,), out, data, 100, BLOCK=128).raise_for_findings()
wanted = np.exp(data - data.max(axis=1, keepdims=True))
assert np.allclose(out, wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-4)

report = racetrap.triton.check(racy, (4,), out, data, 100, BLOCK=128)
print(report)
assert report.verdict == "findings"
