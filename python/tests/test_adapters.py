"""The examples of each package run where the package is there: right kernels are clean and right, racy ones have both lines."""

import os
import runpy
import shutil
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples/python"


def line(script, end):
    lines = (EXAMPLES / script).read_text().splitlines()
    return 1 + next(i for i, text in enumerate(lines) if text.endswith(end))


def run(script):
    return runpy.run_path(str(EXAMPLES / script))["report"]


def test_numba():
    pytest.importorskip("numba")
    report = run("numba_reverse.py")
    finding = next(f for f in report.findings if f.rule == "data-race")
    lines = {place.line for place in finding.guilty}
    assert lines == {line("numba_reverse.py", "# the write"), line("numba_reverse.py", "# the read")}
    assert "cuda.syncthreads()" in finding.help


def test_triton():
    pytest.importorskip("triton")
    report = run("triton_softmax.py")
    finding = next(f for f in report.findings if f.rule == "data-race")
    assert {place.line for place in finding.guilty} == {line("triton_softmax.py", "# the store")}


def test_cupy():
    if not (shutil.which("nvcc") or os.environ.get("CUDA_PATH")):
        pytest.skip("no CUDA compiler")
    report = run("cupy_reverse.py")
    finding = next(f for f in report.findings if f.rule == "data-race")
    assert len({place.line for place in finding.guilty}) == 2
