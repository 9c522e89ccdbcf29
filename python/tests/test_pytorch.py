"""What needs PyTorch itself: its tensors on the CPU as arguments, its own `load_inline` beside the stand-in of `racetrap.torch`, and the script
that checks machine-written modules.

No GPU is asked for: the sources that both compile are of host code alone, since that is what the stand-in stands in for.
"""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import racetrap as rt
from needs import marked, needs
from racetrap.torch import Extension, check_inline

pytestmark = marked("torch", "wheel", "nvcc")
EXAMPLES = Path(__file__).parents[2] / "examples/python"
SOURCE = runpy.run_path(str(EXAMPLES / "torch_inline.py"))["SOURCE"]

#: Host code, for both. What it tells comes back as numbers.
HOST = """
#include <torch/extension.h>
#include <vector>

std::vector<torch::Tensor> tells(torch::Tensor x, std::vector<int64_t> sizes)
{
    std::vector<torch::Tensor> out;
    auto tell = [&](int64_t n) { out.push_back(torch::full({1}, n, torch::TensorOptions().dtype(torch::kInt64))); };
    tell(x.numel()), tell(x.dim()), tell(x.element_size()), tell(x.is_contiguous()), tell(x.defined()), tell(x.sizes() == x.clone().sizes());
    for (int64_t i = 0; i < x.dim(); i++)
        tell(x.size(i)), tell(x.size(i - x.dim())), tell(x.stride(i));
    tell(x.scalar_type() == torch::kFloat32), tell(x.scalar_type() == torch::kInt64), tell(x.dtype() == torch::kBool);
    tell(torch::empty({0}, x.options()).data_ptr() == nullptr), tell(x.contiguous().data_ptr() == x.data_ptr());
    out.push_back(x.view(sizes));
    out.push_back(x.reshape({-1}));
    out.push_back(x.clone());
    out.push_back(torch::zeros_like(x));
    out.push_back(torch::ones_like(x));
    out.push_back(torch::full_like(x, 2.75));
    out.push_back(torch::empty_like(x).zero_());
    out.push_back(torch::empty(x.view(sizes).sizes(), x.options()).zero_());
    out.push_back(torch::zeros({2, 0, 3}, x.options()));
    out.push_back(torch::ones({3}, torch::dtype(torch::kFloat64)));
    return out;
}

torch::Tensor width(torch::Tensor x)
{
    TORCH_CHECK(x.dim() < 4, "x has ", x.dim(), " dimensions");
    int64_t bytes = 0;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "width", [&] { bytes = sizeof(scalar_t); });
    return torch::full({1}, bytes, torch::kLong);
}

torch::Tensor width_and_half(torch::Tensor x)
{
    int64_t bytes = 0;
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "width_and_half", [&] { bytes = sizeof(scalar_t); });
    return torch::full({1}, bytes, torch::kLong);
}

torch::Tensor pointer(torch::Tensor x) { return torch::full({1}, x.data_ptr<float>() != nullptr, torch::kLong); }
"""
TYPES = (np.uint8, np.int8, np.int16, np.int32, np.int64, np.float16, np.float32, np.float64, np.bool_)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The same source, compiled by PyTorch and with the stand-in: called alike, each gives arrays or says `refused`."""
    torch = needs("torch")
    from torch.utils.cpp_extension import load_inline

    names = ["tells", "width", "width_and_half", "pointer"]
    real = load_inline("racetrap_host", cpp_sources=HOST, functions=names, build_directory=str(tmp_path_factory.mktemp("load_inline")))
    with Extension(HOST) as stand_in:

        def as_tensor(value):
            if not isinstance(value, np.ndarray):
                return value
            # NumPy's strides of empty arrays are others than PyTorch's, which keeps them.
            given = torch.from_numpy(value)
            return torch.empty(given.shape, dtype=given.dtype).copy_(given)

        def pytorch(function, *args):
            try:
                left = getattr(real, function)(*[as_tensor(value) for value in args])
            except RuntimeError as error:
                return f"refused: {error}"
            return [one.numpy() for one in (left if isinstance(left, list) else [left])]

        def racetraps(function, *args):
            try:
                return list(stand_in.call(function, *args).results)
            except rt.Error as error:
                return f"refused: {error}"

        yield pytorch, racetraps


def test_the_stand_in_says_what_pytorch_says(both):
    draw = np.random.default_rng(1)
    cases = [((), [1]), ((0,), [0]), ((2, 0, 3), [0, 5]), ((7,), [7, 1]), ((2, 3), [3, -1]), ((2, 3, 4), [-1]), ((1, 1, 5), [5, 1, 1]), ((4,), [3])]
    for number, (shape, sizes) in enumerate([*cases, *cases[:1]]):
        for type in (TYPES[number], TYPES[(2 * number + 3) % len(TYPES)]):
            value = np.asarray(draw.integers(0, 2, shape)).astype(type)
            wanted, got = (ask("tells", value, sizes) for ask in both)
            if isinstance(wanted, str) or isinstance(got, str):
                assert wanted[:7] == got[:7] == "refused" and (shape, sizes) == ((4,), [3]), (shape, sizes, type, wanted, got)
                continue
            assert len(wanted) == len(got)
            for at, (one, other) in enumerate(zip(wanted, got)):
                assert one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes(), (shape, sizes, type, at, one, other)


def test_the_stand_in_refuses_what_pytorch_refuses(both):
    for function in ("width", "width_and_half", "pointer"):
        for type in TYPES:
            wanted, got = (ask(function, np.ones((2, 2), type)) for ask in both)
            assert (wanted == got) if isinstance(wanted, list) else (wanted[:7] == got[:7] == "refused"), (function, type, wanted, got)
    for ask in both:
        assert "x has 4 dimensions" in ask("width", np.ones((1, 1, 1, 1), np.float32))


def test_tensors_are_arguments_of_check_inline():
    torch = needs("torch")
    x = torch.arange(600, dtype=torch.float32).reshape(2, 300)
    report = check_inline(SOURCE, "row_sums", x.clone().requires_grad_())
    report.raise_for_findings()
    assert torch.allclose(torch.from_numpy(report.results[0]), x.sum(dim=1))
    assert check_inline(SOURCE, "row_sums", x, defines=["RACY"]).findings[0].rule == "data-race"
    with pytest.raises(rt.ArgumentError, match="argument 0 is not contiguous"):
        check_inline(SOURCE, "row_sums", x.T)
    with pytest.raises(rt.ArgumentError, match="argument 0 is neither"):
        check_inline(SOURCE, "row_sums", x.bfloat16())
    add = """
    #include <torch/extension.h>
    __global__ void add(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] += 1; }
    void in_place(torch::Tensor x) { add<<<1, 32>>>(x.data_ptr<float>(), x.numel()); }
    """
    some = torch.zeros(7)
    check_inline(add, "in_place", some).raise_for_findings()
    assert (some == 1).all()


def test_tensors_are_arguments_of_check():
    torch = needs("torch")
    data = torch.arange(64, dtype=torch.int32)
    source = 'extern "C" __global__ void twice(int *x) { x[threadIdx.x] *= 2; }\n'
    rt.check(source, grid=1, block=64, args=[data]).raise_for_findings()
    assert (data == 2 * torch.arange(64)).all()


def test_tensors_are_arguments_of_triton():
    """In a block of `watch`, too, where Triton would ask PyTorch for a device."""
    torch, _ = needs("torch"), needs("triton")
    kernels = runpy.run_path(str(EXAMPLES / "watch_triton.py"))
    data, out = torch.arange(100, dtype=torch.float32), torch.zeros(100)
    with rt.watch() as report:
        kernels["copy"][(4,)](out, data, 100, 32, BLOCK=32)
    report.raise_for_findings()
    assert (out == data).all()
    import racetrap.triton

    racetrap.triton.check(kernels["copy"], (4,), out.zero_(), data, 100, 32, BLOCK=32, reference=lambda out, data, *_: {"out": data}).raise_for_findings()


MODULE = '''
import torch
from torch.utils.cpp_extension import load_inline
class Model(torch.nn.Module):
    def forward(self, x):
        return x.sum(dim=1)
rows = 4096
def get_inputs():
    return [torch.rand(rows, 50)]
def get_init_inputs():
    return []
'''


def test_machine_written_modules(tmp_path):
    """The script's table, for three modules of our own: right, racy, and without a kernel that is called."""
    own = "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return {}\n"
    inline = "own = load_inline(name='own', cpp_sources='torch::Tensor row_sums(torch::Tensor x);', cuda_sources={!r}, functions=['row_sums'])\n"
    candidates = [
        (inline.format(SOURCE) + own.format("own.row_sums(x.cuda())"), "clean"),
        (inline.format(SOURCE.replace("#ifndef RACY", "#if 0")) + own.format("own.row_sums(x)"), "race"),
        (f"unused = {SOURCE!r}\n" + own.format("x.sum(dim=1)"), "not called"),
        (own.format("x.sum(dim=1)"), None),
    ]
    rows = [{"level_id": 1, "task_id": number, "ref_code": MODULE, "custom_code": MODULE + code} for number, (code, _) in enumerate(candidates)]
    (tmp_path / "set.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = subprocess.run([sys.executable, EXAMPLES / "machine_written.py", "set.json"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for number, (_, verdict) in enumerate(candidates[:3]):
        assert any(line.startswith(f"1:{number}") and verdict in line for line in ran.stdout.splitlines()), ran.stdout
    assert "3 of 4 entries have a kernel" in ran.stdout and "| race | 1 | 1 |" in ran.stdout and "| clean | 1 | 1 |" in ran.stdout


def test_a_problem_of_kernelbench(tmp_path):
    """The problem's own inputs are tensors of PyTorch."""
    (tmp_path / "problem.py").write_text(MODULE.replace("4096", "3"))
    for source, status in [(SOURCE, 0), (SOURCE.replace("#ifndef RACY", "#if 0"), 1)]:
        call = f"load_inline(name='own', cpp_sources='torch::Tensor row_sums(torch::Tensor x);', cuda_sources={source!r}, functions=['row_sums'])\n"
        (tmp_path / "candidate.py").write_text("from torch.utils.cpp_extension import load_inline\n" + call)
        ran = subprocess.run([sys.executable, EXAMPLES / "kernelbench.py", "candidate.py", "--problem", "problem.py"], cwd=tmp_path, capture_output=True, text=True)
        assert ran.returncode == status and ran.stdout.startswith(f"row_sums: {'findings' if status else 'clean'}"), ran.stdout + ran.stderr
