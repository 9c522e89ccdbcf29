"""Checks a candidate of KernelBench for races, barriers and memory errors, without a GPU and without running its Python.

    python kernelbench.py candidate.py --input 'float32[16,64]' --input 'float32[64]'
    python kernelbench.py candidate.py --problem level1/1_problem.py

The format is that of https://github.com/ScalingIntelligence/KernelBench: a candidate is a Python file that passes `cuda_sources`, `cpp_sources` and
`functions` to `torch.utils.cpp_extension.load_inline`; a problem is one whose `get_inputs()` gives tensors. The sources are read out of the
candidate's syntax tree, and its host functions run in racetrap's sandbox (`racetrap.torch`). With `--problem`, which needs PyTorch and runs that
file here, inputs are the problem's; without it they are random, of the types and shapes of `--input`, one for each of the function's arguments.

Not seen: what the candidate's Python does around its function; so results are not compared here. `racetrap.judge` compares them.
"""

import argparse
import ast
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import racetrap
import racetrap.torch


def load_inline_calls(text):
    """Of each call of `load_inline`: the keywords whose values are texts or lists of texts, written there or in a variable."""
    tree = ast.parse(text)
    known = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def texts(node):
        node = known.get(node.id) if isinstance(node, ast.Name) else node
        if isinstance(node, (ast.List, ast.Tuple)):
            return [text for item in node.elts for text in texts(item)]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return ["".join(texts(node.left) + texts(node.right))]
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return [node.value]
        return []

    for node in ast.walk(tree):
        name = getattr(node, "func", None)
        if isinstance(node, ast.Call) and "load_inline" in (getattr(name, "id", ""), getattr(name, "attr", "")):
            yield {keyword.arg: texts(keyword.value) for keyword in node.keywords}


def drawn(text, random):
    """`float32[16,64]` as an array, `int:5` and `float:0.5` as numbers."""
    if match := re.fullmatch(r"(int|float):(.+)", text):
        return {"int": int, "float": float}[match[1]](match[2])
    kind, sizes = re.fullmatch(r"(\w+)\[([\d,]*)\]", text).groups()
    shape = tuple(int(size) for size in sizes.split(",") if size)
    return random.standard_normal(shape).astype(kind) if kind.startswith("float") else random.integers(0, 9, shape).astype(kind)


def check(candidate, inputs):
    """The report on each host function of a candidate."""
    for call in load_inline_calls(Path(candidate).read_text()):
        for function in call.get("functions", []):
            yield function, racetrap.torch.check_inline(call.get("cuda_sources", []), function, *inputs, cpp_sources=call.get("cpp_sources", []))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("candidate")
    parser.add_argument("--input", action="append", default=[])
    parser.add_argument("--problem")
    given = parser.parse_args()
    random = np.random.default_rng(1)
    inputs = runpy.run_path(given.problem)["get_inputs"]() if given.problem else [drawn(text, random) for text in given.input]
    reports = list(check(given.candidate, inputs))
    for function, report in reports:
        print(f"{function}: {report.verdict}\n{report}")
    sys.exit(0 if reports and all(report.is_clean for _, report in reports) else 1)
