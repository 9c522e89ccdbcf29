"""Checks the CUDA kernels that robust-kbench shows as its best: written by a language model, right and fast by that benchmark.

    git clone https://github.com/SakanaAI/robust-kbench
    git -C robust-kbench checkout 078f5ba
    python robust_kbench.py robust-kbench/highlighted

The folder has a `kernel.cu` for each of 12 tasks: an extension for PyTorch with one function. Its `results.csv` says that 11 of them pass, and names
another kernel for the twelfth, `layernorm`. Each is
called on the simulator with two sets of small inputs of the task's shapes, one of which is even and one is not. The results are not compared:
the benchmark has done that. `refused` are sources that call operators or libraries of PyTorch, which racetrap's stand-in does not have.
"""

import re
import sys
from pathlib import Path

import numpy as np
import racetrap
import racetrap.torch


def arrays(*shapes):
    draw = np.random.default_rng(1)
    return [draw.standard_normal(shape, np.float32) for shape in shapes]


def classes(batch, classes):
    """Logits, and the right class of each row."""
    return [*arrays((batch, classes)), np.random.default_rng(2).integers(0, classes, batch)]


#: What each function takes, by task: as the task's `func_forward.py` and `func_backward.py` call it.
INPUTS = {
    "layernorm/forward": [[*arrays((4, 64, 32), (64, 32), (64, 32)), 1e-5], [*arrays((3, 21, 5), (21, 5), (21, 5)), 1e-5]],
    "llama_ffw/forward": [arrays((2, 16, 64), (128, 64), (128, 64), (64, 128))],
    "llama_rmsnorm/forward": [[*arrays((2, 8, 256), (256,)), 1e-8], [*arrays((1, 3, 100), (100,)), 1e-8]],
    "mnist_conv_relu_pool/forward": [arrays((2, 1, 28, 28), (4, 1, 3, 3), (4,)), arrays((1, 3, 13, 9), (2, 3, 5, 5), (2,))],
    "mnist_cross_entropy/forward": [classes(64, 10), classes(33, 17)],
    "mnist_cross_entropy/backward": [[np.array(1, np.float32), *classes(64, 10)], [np.array(1, np.float32), *classes(9, 70)]],
    "mnist_linear/forward": [arrays((8, 64), (32, 64), (32,)), arrays((3, 50), (7, 50), (7,))],
    "mnist_linear/backward": [arrays((8, 32), (8, 64), (32, 64)), arrays((3, 7), (3, 50), (7, 50))],
    "mnist_linear_relu/forward": [arrays((8, 64), (32, 64), (32,)), arrays((3, 50), (7, 50), (7,))],
    "mnist_linear_relu/backward": [arrays((8, 32), (8, 64), (32, 64), (32,)), arrays((3, 7), (3, 50), (7, 50), (7,))],
    "mnist_pool/backward": [arrays((2, 2, 8, 8), (2, 2, 4, 4)), arrays((1, 3, 6, 10), (1, 3, 3, 5))],
    "resnet_block/forward": [arrays((1, 4, 8, 8))],
}


def verdict(file, inputs):
    """The verdict on a source with these inputs, and what was found."""
    source = file.read_text()
    bound = re.findall(r'\.def\(\s*"\w+"\s*,\s*&?([\w:]+)', source)
    try:
        with racetrap.torch.Extension(source) as extension:
            reports = [extension.call(bound[0], *values) for values in inputs]
    except racetrap.CompileError as error:
        return "refused", next((line for line in str(error).splitlines() if "error" in line), str(error).splitlines()[0])
    except racetrap.Error as error:
        return "inconclusive", str(error).splitlines()[0]
    findings = {f"{f.rule} at {f.guilty[0].file}:{f.guilty[0].line}" for report in reports for f in report.findings if f.level != "note"}
    verdicts = {report.verdict for report in reports}
    worst = next(word for word in ("findings", "unsupported", "inconclusive", "clean") if word in verdicts)
    return worst, ", ".join(sorted(findings)) or reports[0].summary


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for task, inputs in INPUTS.items():
        word, why = verdict(Path(sys.argv[1], task, "kernel.cu"), inputs)
        print(f"{task:30} {word:12} {why[:160]}", flush=True)


if __name__ == "__main__":
    main()
