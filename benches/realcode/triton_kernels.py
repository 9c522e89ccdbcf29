"""Kernels of the usual kinds, written with Triton, compiled for sm_90 and compared with NumPy: a matrix product, attention, a softmax and a layer
normalisation. Prints one line of JSON a kernel: name, verdict, findings by rule, what the comparison gave, seconds. Needs `triton` and the Python package
`racetrap`; no GPU.

    benches/realcode/triton_kernels.py [NAME]
"""

import collections
import json
import sys
import time

import numpy as np
import racetrap.triton
import triton
import triton.language as tl


@triton.jit
def product(out, a, b, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    from_a = a + rows[:, None] * K + inner[None, :]
    from_b = b + inner[:, None] * N + columns[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(from_a), tl.load(from_b), total)
        from_a += BK
        from_b += BK * N
    tl.store(out + rows[:, None] * N + columns[None, :], total)


@triton.jit
def attention(out, q, k, v, length, scale, BLOCK: tl.constexpr, STEP: tl.constexpr, WIDTH: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    width = tl.arange(0, WIDTH)
    query = tl.load(q + rows[:, None] * WIDTH + width[None, :])
    highest = tl.full((BLOCK,), -float("inf"), tl.float32)
    weight = tl.zeros((BLOCK,), tl.float32)
    total = tl.zeros((BLOCK, WIDTH), tl.float32)
    for start in range(0, length, STEP):
        at = start + tl.arange(0, STEP)
        keys = tl.load(k + at[:, None] * WIDTH + width[None, :])
        values = tl.load(v + at[:, None] * WIDTH + width[None, :])
        scores = tl.dot(query, tl.trans(keys)) * scale
        higher = tl.maximum(highest, tl.max(scores, 1))
        powers = tl.exp(scores - higher[:, None])
        change = tl.exp(highest - higher)
        weight = weight * change + tl.sum(powers, 1)
        total = total * change[:, None] + tl.dot(powers.to(tl.float16), values)
        highest = higher
    tl.store(out + rows[:, None] * WIDTH + width[None, :], total / weight[:, None])


@triton.jit
def softmax(out, data, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(data + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def layer_norm(out, data, scale, shift, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(data + row * columns + at, mask=at < columns, other=0.0)
    centred = tl.where(at < columns, values - tl.sum(values, axis=0) / columns, 0.0)
    spread = tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + 1e-5)
    result = centred * spread * tl.load(scale + at, mask=at < columns) + tl.load(shift + at, mask=at < columns)
    tl.store(out + row * columns + at, result, mask=at < columns)


random = np.random.default_rng(1)


def draw(*shape, dtype=np.float32):
    return random.standard_normal(shape).astype(dtype)


def of_product(out, a, b, *_):
    return {"out": a.astype(np.float32) @ b.astype(np.float32)}


def of_attention(out, q, k, v, length, scale):
    scores = q.astype(np.float32) @ k.astype(np.float32).T * scale
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return {"out": powers / powers.sum(1, keepdims=True) @ v.astype(np.float32)}


def of_softmax(out, data, _):
    powers = np.exp(data - data.max(1, keepdims=True))
    return {"out": powers / powers.sum(1, keepdims=True)}


def of_layer_norm(out, data, scale, shift, _):
    centred = data - data.mean(1, keepdims=True)
    return {"out": centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * scale + shift}


half = np.float16
KERNELS = {
    "product": (
        product, (2, 2), [np.zeros((128, 128), np.float32), draw(128, 192, dtype=half), draw(192, 128, dtype=half), 128, 128, 192],
        {"BM": 64, "BN": 64, "BK": 64}, of_product, 1e-2,
    ),
    "product of large tiles": (
        product, (1, 1), [np.zeros((128, 128), np.float32), draw(128, 192, dtype=half), draw(192, 128, dtype=half), 128, 128, 192],
        {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8}, of_product, 1e-2,
    ),
    "attention": (
        attention, (2,), [np.zeros((128, 64), np.float32), draw(128, 64, dtype=half), draw(128, 64, dtype=half), draw(128, 64, dtype=half), 128, 0.125],
        {"BLOCK": 64, "STEP": 64, "WIDTH": 64}, of_attention, 1e-2,
    ),
    "softmax": (softmax, (4,), [np.zeros((4, 1000), np.float32), draw(4, 1000), 1000], {"BLOCK": 1024}, of_softmax, 1e-3),
    "layer normalisation": (
        layer_norm, (4,), [np.zeros((4, 1000), np.float32), draw(4, 1000), draw(1000), draw(1000), 1000], {"BLOCK": 1024}, of_layer_norm, 1e-3,
    ),
}


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    for name, (kernel, grid, arguments, constants, reference, tolerance) in KERNELS.items():
        if only not in name:
            continue
        began = time.monotonic()
        row = {"name": f"triton/{name}", "version": triton.__version__, "result": "right", "findings": ""}
        try:
            report = racetrap.triton.check(kernel, grid, *arguments, capability=90, reference=reference, tolerance=tolerance, **constants)
            rules = collections.Counter(finding.rule for finding in report.findings)
            row |= {"verdict": report.verdict, "findings": ", ".join(f"{n} × {rule}" for rule, n in sorted(rules.items())), "text": str(report)}
        except racetrap.ResultError as wrong:
            row |= {"verdict": "", "result": "WRONG", "stop": str(wrong)}
        except racetrap.Error as stop:
            row |= {"verdict": "", "result": "not compared", "stop": str(stop)}
        print(json.dumps({**row, "seconds": time.monotonic() - began}), flush=True)


if __name__ == "__main__":
    main()
