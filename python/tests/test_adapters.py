"""The examples of each package run where the package is there: right kernels are clean and right, racy ones have both lines."""

import runpy
from pathlib import Path

import pytest
from needs import needs

EXAMPLES = Path(__file__).parents[2] / "examples/python"


def line(script, end):
    lines = (EXAMPLES / script).read_text().splitlines()
    return 1 + next(i for i, text in enumerate(lines) if text.endswith(end))


def run(script):
    return runpy.run_path(str(EXAMPLES / script))["report"]


def test_numba():
    needs("numba")
    report = run("numba_reverse.py")
    finding = next(f for f in report.findings if f.rule == "data-race")
    lines = {place.line for place in finding.guilty}
    assert lines == {line("numba_reverse.py", "# the write"), line("numba_reverse.py", "# the read")}
    assert "cuda.syncthreads()" in finding.help
    # Numba calls the array `_cudapy_smem` and a number.
    assert {place.element.split("[")[0] for place in finding.guilty} == {"tile"}


def test_numbas_arguments():
    """What a kernel is passed: arrays of more dimensions and of both orders, one array twice, tuples, numbers of each kind."""
    needs("numba")
    import numpy as np
    import racetrap
    import racetrap.numba
    from numba import cuda

    @cuda.jit
    def kernel(out, again, two, pair, whole, real, truth):
        i = cuda.threadIdx.x
        out[i] = two[i, 1] + pair[0][0] + pair[1] + whole + real + (1 if truth else 0) + 0 * again.size

    for order in "CF":
        out, two = np.zeros(4, np.float64), np.asarray(np.arange(12.0).reshape(4, 3), order=order)
        racetrap.numba.check(kernel[1, 4], out, out, two, (np.full(1, 100.0), 1000), 10000, 0.5, True).raise_for_findings()
        assert (out == two[:, 1] + 11101.5).all(), out

    @cuda.jit
    def neighbour(out, again):
        i = cuda.threadIdx.x
        out[i] = again[(i + 1) % 64]

    data = np.zeros(64, np.int32)
    finding = racetrap.numba.check(neighbour[1, 64], data, data).findings[0]
    assert finding.rule == "data-race" and finding.guilty[0].element.startswith("out["), finding
    racetrap.numba.check(neighbour[1, 64], data, data.copy()).raise_for_findings()
    with pytest.raises(racetrap.ArgumentError, match="overlaps"):
        racetrap.numba.check(neighbour[1, 64], data[1:], data[:-1])
    with pytest.raises(racetrap.ArgumentError, match="not contiguous"):
        racetrap.numba.check(neighbour[1, 32], data[::2], data)
    with pytest.raises(TypeError, match="kernel.grid, block."):
        racetrap.numba.check(neighbour, data, data)


def test_triton():
    needs("triton")
    report = run("triton_softmax.py")
    finding = next(f for f in report.findings if f.rule == "data-race")
    assert {place.line for place in finding.guilty} == {line("triton_softmax.py", "# the store")}
    assert all(place.file.endswith("triton_softmax.py") for place in finding.guilty)
    assert all(place.element.startswith("out[") for place in finding.guilty) and "--arg 'out=f32[400]:data'" in str(report)


def test_tritons_dot_atomics_and_barriers():
    needs("triton")
    values = runpy.run_path(str(EXAMPLES / "triton_dot.py"))
    shift = next(f for f in values["report"].findings if f.rule == "data-race")
    assert {place.line for place in shift.guilty} == {line("triton_dot.py", "# the write"), line("triton_dot.py", "# the read")}
    # Triton has one barrier.
    assert shift.help.startswith("put `tl.debug_barrier()` between")
    histogram = next(f for f in values["racy_histogram"].findings if f.rule == "data-race")
    assert {place.line for place in histogram.guilty} == {line("triton_dot.py", "# the store")}


def test_triton_for_sm_90():
    """What needs no `wgmma` runs; what does is unsupported where racetrap has none, and never clean without being run."""
    needs("triton")
    import numpy as np
    import racetrap
    import racetrap.triton as rtt

    kernels = runpy.run_path(str(EXAMPLES / "triton_dot.py"))
    cells = np.zeros(512, np.int32)
    rtt.check(kernels["shift"], (1,), cells, WAIT=True, BLOCK=256, capability=90).raise_for_findings()
    assert rtt.check(kernels["shift"], (1,), cells, WAIT=False, BLOCK=256, capability=90).verdict == "findings"
    a, b, out = (np.ones((64, 64), kind) for kind in (np.float16, np.float16, np.float32))
    wrong = lambda out, a, b: {"out": np.full((64, 64), 64.5)}
    try:
        report = rtt.check(kernels["product"], (1, 1), out, a, b, N=64, BLOCK=64, capability=90)
    except racetrap.Error as error:
        assert "wgmma" in str(error)
        return
    assert report.verdict == "unsupported" or (report.verdict == "clean" and (out == 64).all()), str(report)
    if report.verdict == "clean":
        with pytest.raises(racetrap.ResultError, match="instead of 64.5"):
            rtt.check(kernels["product"], (1, 1), out, a, b, N=64, BLOCK=64, capability=90, reference=wrong)


def test_triton_against_a_reference():
    needs("triton")
    import numpy as np
    import racetrap
    import racetrap.triton as rtt

    kernels = runpy.run_path(str(EXAMPLES / "triton_softmax.py"))
    data = np.ones((2, 8), np.float32)
    with pytest.raises(racetrap.ResultError, match="16 of 16 elements of `out` differ, the first at .0, 0.: 0.125 instead of 1.0"):
        rtt.check(kernels["softmax"], (2,), np.zeros_like(data), data, 8, BLOCK=8, reference=lambda out, data, columns: {"out": data})
    with pytest.raises(racetrap.ArgumentError, match="no argument `BLOK`"):
        rtt.check(kernels["softmax"], (2,), data, data, 8, BLOK=8)
    with pytest.raises(racetrap.ArgumentError, match="`BLOCK` is missing"):
        rtt.check(kernels["softmax"], (2,), data, data, 8)


def test_cupy():
    needs("nvcc")
    report = run("cupy_reverse.py")
    finding = next(f for f in report.findings if f.rule == "data-race")
    assert len({place.line for place in finding.guilty}) == 2


def test_cupys_elementwise_kernels():
    needs("nvcc")
    import numpy as np
    import racetrap
    from racetrap.cupy import Elementwise, check_elementwise

    report = run("cupy_elementwise.py")
    assert any(f.rule == "data-race" for f in report.findings)
    one = np.zeros(4, np.int32)
    for parameters, args, message in [
        (("int32 x", "int32 y"), (one,), "2 arguments"),
        (("float32 x", "int32 y"), (one, one), "takes float32"),
        (("T x", "T y"), (one, one.astype(np.float32)), "`T` is int32"),
        (("int32 x", "int32 y"), (one, one[:3]), "one shape"),
        (("raw int32 x", "raw int32 y"), (one, one), "`size` says"),
        (("int32 x; exit(1)", "int32 y"), (one, one), "not a parameter"),
    ]:
        with pytest.raises(racetrap.ArgumentError, match=message):
            check_elementwise(Elementwise(*parameters, "y = x", "copy"), *args)
    cupy = needs("cupy")

    y = np.zeros(4, np.int32)
    check_elementwise(cupy.ElementwiseKernel("T x, int32 k", "T y", "y = x + k", "plus"), one, 5, y).raise_for_findings()
    assert (y == 5).all()
