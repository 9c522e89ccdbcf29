"""`racetrap.torch.check_inline`: host code of extensions, with a stand-in for PyTorch, in a process that is confined. Whether PyTorch
itself gives the same is told by test_pytorch.py."""

import os
import resource
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import racetrap as rt
from needs import marked
from racetrap.torch import Extension, check_inline

pytestmark = marked("wheel", "nvcc")
EXAMPLE = Path(__file__).parents[2] / "examples/python/torch_inline.py"
SOURCE = runpy.run_path(str(EXAMPLE))["SOURCE"]
X = np.arange(600, dtype=np.float32).reshape(2, 300)


def test_the_example():
    report = runpy.run_path(str(EXAMPLE), run_name="__main__")["report"]
    finding = next(f for f in report.findings if f.rule == "data-race")
    wanted = 1 + next(i for i, line in enumerate(SOURCE.splitlines()) if "+= part" in line)
    assert wanted in {place.line for place in finding.guilty}, str(report)
    assert all(place.file.endswith("inline.cu") for place in finding.guilty)
    assert "srcdoc" in report._repr_html_() and "data-race" in report.to_sarif() and "error[data-race]" in str(report)


def test_what_can_go_wrong():
    with pytest.raises(rt.Error, match="x has 1 dimensions"):
        check_inline(SOURCE, "row_sums", X[0])
    with pytest.raises(rt.Error, match="not for elements of this type"):
        check_inline(SOURCE, "row_sums", X.astype(np.int32))
    with pytest.raises(rt.Error, match="a number is passed where the function takes a tensor"):
        check_inline(SOURCE, "row_sums", 5)
    with pytest.raises(rt.CompileError, match="softmax"):
        check_inline("#include <torch/extension.h>\ntorch::Tensor f(torch::Tensor x) { return torch::softmax(x, 1); }", "f", X)
    with pytest.raises(rt.ArgumentError, match="not the name"):
        check_inline(SOURCE, "row_sums(x); system", X)
    with pytest.raises(rt.ArgumentError, match="complex64"):
        check_inline(SOURCE, "row_sums", X.astype(np.complex64))


PLAIN = """
#include <torch/extension.h>
#include <fstream>
#include <cstdlib>
__global__ void add(float *x, const float *y, float k, int n) { int i = blockIdx.x * 32 + threadIdx.x; if (i < n) x[i] += k * y[i]; }
void in_place(torch::Tensor &&x, const torch::Tensor &y, double k) { add<<<(x.numel() + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), k, x.numel()); }
std::vector<torch::Tensor> spy(torch::Tensor x, int64_t port) {
    std::ofstream(OUT) << "was here";
    std::ifstream secret(IN);
    std::string word;
    secret >> word;
    auto out = torch::zeros({2}, x.options());
    if (!word.empty() || system("echo was here > " OUT) == 0) out = torch::ones_like(out);
    add<<<1, 32>>>(out.data_ptr<float>(), out.data_ptr<float>(), 1.0f, 2);
    return {out, x};
}
"""


def test_tensors_are_written_back():
    x, y = np.ones(100, np.float32), np.arange(100, dtype=np.float32)
    report = check_inline(PLAIN, "in_place", x, y, 2, defines={"OUT": '""', "IN": '""'})
    report.raise_for_findings()
    assert report.results == () and (x == 1 + 2 * np.arange(100)).all()


def test_host_code_is_confined(tmp_path):
    """It reads and writes nothing of this user's."""
    (tmp_path / "secret").write_text("secret")
    names = {"OUT": f'"{tmp_path}/spy"', "IN": f'"{tmp_path}/secret"'}
    report = check_inline(PLAIN, "spy", X[0], 80, defines=names)
    assert report.is_clean, str(report)
    assert (report.results[0] == 0).all() and (report.results[1] == X[0]).all()
    assert not (tmp_path / "spy").exists()


#: What host code that is made to may leave where its results and the report are read. `kill` ends the command that would have written a report.
HOSTILE = """
#include <torch/extension.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
void forge(const std::vector<int64_t> &words)
{
    FILE *out = fopen("other", "wb");
    fwrite(words.data(), 8, words.size(), out);
    fclose(out);
    rename("other", "results");
    _exit(0);
}
void report(const std::string &text)
{
    kill(getppid(), SIGSTOP);
    for (const char *name : {"report.json", "report.html", "report.sarif", "report.text"}) {
        FILE *out = fopen(name, "w");
        fwrite(text.data(), 1, text.size(), out);
        fclose(out);
    }
    kill(getppid(), SIGKILL);
    _exit(0);
}
torch::Tensor f(torch::Tensor x, int64_t which)
{
    if (which < 9) unlink("results");
    switch (which) {
    case 0: symlink("/etc/passwd", "results"); break;
    case 1: mkfifo("results", 0600); break;
    case 2: truncate("results", 0); close(open("results", O_CREAT | O_RDWR, 0600)); truncate("results", int64_t(1) << 40); break;
    case 3: forge({0x0000000100000006, -5, 0});
    case 4: forge({(int64_t(6) << 32) | 0xffffffff, (int64_t(1) << 32) | 1, int64_t(1) << 62, 0});
    case 5: forge({0x7fffffff});
    case 6: report("{\\"checks\\": [{\\"verdict\\": \\"magnificent\\", \\"findings\\": [], \\"summary\\": 5}]}");
    case 7: report(std::string(3000000, '['));
    case 8: unlink("report.json"); symlink("/etc/passwd", "report.json"); kill(getppid(), SIGKILL); break;
    case 9: if (!fork()) { setsid(); char *words[] = {(char *)"sleep", (char *)"7391.75", nullptr}; execv("/bin/sleep", words); _exit(0); }
    }
    return x;
}
"""


def test_what_host_code_leaves_is_read_with_care():
    """Nothing but an `Error`, no waiting, and little memory, whatever it leaves; and no process of it lives on."""
    with Extension(HOSTILE) as extension:
        for which in range(9):
            with pytest.raises(rt.Error):
                extension.call("f", X, which, timeout=60)
        assert extension.call("f", X, 9).verdict == "inconclusive"
    # KiB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2 << 20
    commands = [file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline") if os.access(file, os.R_OK)]
    assert commands and not any(b"7391.75" in command for command in commands)


def test_a_judgement_of_host_code():
    judged = lambda source, **options: rt.judge(
        source,
        reference=lambda x: x.sum(axis=1),
        inputs=lambda n, random: [random.random((n, 40), np.float32)],
        function="row_sums",
        sizes=(1, 5),
        **options,
    )
    assert judged(SOURCE).verdict == "clean"
    assert judged(SOURCE, defines={"RACY": None}).verdict == "race"
    assert judged(SOURCE.replace("out[blockIdx.x] = part[0]", "if (blockIdx.x) out[blockIdx.x] = part[0]")).verdict == "wrong"
    # The reference's results are in none of its memory, and its inputs have to stay as they were.
    assert judged(SOURCE.replace("    return out;", "    cudaMemset(x.data_ptr(), 0, 4); return out;")).verdict == "wrong"
    assert judged("#error no\n" + SOURCE).verdict == "refused"


def test_an_extension_compiles_once():
    """For each function; the byte that fills new tensors is no part of the program."""
    with Extension(PLAIN, defines={"OUT": '""', "IN": '""'}) as extension:
        x, y = np.ones(40, np.float32), np.ones(40, np.float32)
        for poison in (None, 0xFF, 0xA5):
            extension.call("in_place", x, y, 1.0, poison=poison).raise_for_findings()
        assert (x == 4).all() and len(extension._built) == 1


def test_the_compilers_time_is_no_part_of_the_budget(monkeypatch):
    """Nor is what else the machine does: it is processor time that counts."""
    burn = [sys.executable, "-c", "import time\nwhile time.process_time() < 4: pass"]
    build = Extension.build

    def slow(self, *args):
        if not self._built:
            subprocess.run(burn, check=True)
        return build(self, *args)

    monkeypatch.setattr(Extension, "build", slow)
    judgement = rt.judge(
        SOURCE,
        reference=lambda x: x.sum(axis=1),
        inputs=lambda n, random: [random.random((n, 40), np.float32)],
        function="row_sums",
        sizes=(1, 5),
        budget=3.5,
    )
    assert judgement.verdict == "clean", str(judgement)
    assert judgement.coverage == "sizes 1, 5", judgement.coverage


def test_what_is_passed_becomes_what_the_parameter_is():
    source = """
    #include <torch/extension.h>
    std::vector<torch::Tensor> f(torch::Tensor x, std::vector<int64_t> sizes, c10::optional<torch::Tensor> bias, bool flag, double scale, int64_t n) {
        TORCH_CHECK(sizes.size() == 2 && sizes[1] == 7 && !bias.has_value() && flag && scale == 0.5 && n == -3, "arguments");
        return {x};
    }
    torch::Tensor g(torch::Tensor x) { return x; }
    torch::Tensor h(torch::Tensor x, torch::Tensor none) {
        TORCH_CHECK(none.defined() && none.numel() == 0 && none.data_ptr<float>() == nullptr && x.data_ptr() != nullptr, "an empty tensor has no address");
        return torch::zeros_like(none);
    }
    """
    with Extension(source) as extension:
        x = np.arange(4, dtype=np.int64)
        report = extension.call("f", x, [2, 7], None, True, 0.5, -3)
        assert isinstance(report.returned, list) and (report.returned[0] == x).all()
        assert (extension.call("g", x).returned == x).all()
        assert extension.call("h", x, np.zeros(0, np.float32)).returned.shape == (0,)
        with pytest.raises(rt.Error, match="no list of numbers"):
            extension.call("f", x, 2, None, True, 0.5, -3)


def test_a_candidate_of_kernelbench(tmp_path):
    bench = runpy.run_path(str(EXAMPLE.parent / "kernelbench.py"))
    candidate = tmp_path / "candidate.py"
    head = "import torch\nfrom torch.utils.cpp_extension import load_inline\n"
    call = 'module = load_inline(name="sums", cpp_sources=header, cuda_sources=[source], functions=["row_sums"])\n'
    for source, verdict in [(SOURCE, "clean"), (SOURCE.replace("#ifndef RACY", "#if 0"), "findings")]:
        candidate.write_text(f"{head}source = {source!r}\nheader = 'torch::Tensor row_sums(torch::Tensor x);'\n{call}raise SystemExit('not to be run')\n")
        ((function, report),) = bench["check"](candidate, [X])
        assert (function, report.verdict) == ("row_sums", verdict), str(report)
    assert bench["drawn"]("float32[2,3]", np.random.default_rng(1)).shape == (2, 3) and bench["drawn"]("int:5", None) == 5


def test_a_solution_of_flashinfer_bench():
    bench = runpy.run_path(str(EXAMPLE.parent / "flashinfer_bench.py"))
    definition = {
        "axes": {"rows": {"type": "var"}, "columns": {"type": "const", "value": 300}},
        "inputs": {"x": {"shape": ["rows", "columns"], "dtype": "float32"}},
        "outputs": {"sums": {"shape": ["rows"], "dtype": "float32"}},
    }
    workloads = [{"workload": {"uuid": f"w{rows}", "axes": {"rows": rows}, "inputs": {"x": {"type": "random"}}}} for rows in (1, 5)]
    given = SOURCE + "void into(torch::Tensor x, torch::Tensor sums_) { auto out = row_sums(x); cudaMemcpy(sums_.data_ptr(), out.data_ptr(), out.nbytes(), cudaMemcpyDefault); }\n"
    for source, entry, verdict in [(SOURCE, "row_sums", "clean"), (given, "into", "clean"), (SOURCE.replace("#ifndef RACY", "#if 0"), "row_sums", "findings")]:
        solution = {"spec": {"language": "CUDA", "entry_point": f"k.cu::{entry}"}, "sources": [{"path": "k.cu", "content": source}]}
        reports = dict(bench["check"](definition, solution, workloads))
        assert {uuid: report.verdict for uuid, report in reports.items()} == {"w1": verdict, "w5": verdict}
    with pytest.raises(SystemExit):
        list(bench["check"](definition, {"spec": {"language": "Triton", "entry_point": "m.py::run"}, "sources": []}, workloads))
