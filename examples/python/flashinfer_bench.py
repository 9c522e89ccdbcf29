"""Checks a CUDA solution of FlashInfer-Bench for races, barriers and memory errors, without a GPU.

    python flashinfer_bench.py definition.json solution.json workloads.jsonl

The format is that of https://github.com/flashinfer-ai/flashinfer-bench, docs/flashinfer_trace: a definition has `axes`, `inputs` and `outputs`, a
solution has `sources` and `spec.entry_point` (`kernel.cu::run`), and each line of the workloads gives the axes that vary, and the inputs. The host
function runs in racetrap's sandbox (`racetrap.torch`), for each workload; it takes the inputs and gives the outputs, or takes these, too.

Only solutions of one `.cu` file are taken; inputs that the workload reads from `safetensors` are drawn at random; results are not compared, since the
definition's reference is a program of PyTorch.
"""

import json
import sys
from pathlib import Path

import numpy as np
import racetrap.torch


def array(description, sizes, random):
    """Random values of a tensor's type and shape."""
    shape = tuple(sizes[axis] for axis in description["shape"])
    kind = np.dtype(description["dtype"])
    return random.standard_normal(shape).astype(kind) if kind.kind == "f" else random.integers(0, 2, shape).astype(kind)


def arguments(definition, workload, random):
    """The inputs in their order, and the outputs, for functions that take them."""
    sizes = {name: axis["value"] for name, axis in definition["axes"].items() if axis["type"] == "const"} | workload["axes"]
    inputs = []
    for name, description in definition["inputs"].items():
        source = workload["inputs"].get(name, {"type": "random"})
        inputs.append(source["value"] if source["type"] == "scalar" else array(description, sizes, random))
    return inputs, [array(description, sizes, random) for description in definition["outputs"].values()]


def check(definition, solution, workloads):
    """The report on each workload."""
    file, function = solution["spec"]["entry_point"].split("::")
    sources = {source["path"]: source["content"] for source in solution["sources"]}
    if solution["spec"]["language"].lower() != "cuda" or list(sources) != [file]:
        raise SystemExit("only solutions of one CUDA file are taken")
    random = np.random.default_rng(1)
    for line in workloads:
        workload = line["workload"]
        inputs, outputs = arguments(definition, workload, random)
        try:
            yield workload["uuid"], racetrap.torch.check_inline(sources[file], function, *inputs)
        except racetrap.CompileError:
            # It does not take the inputs alone.
            yield workload["uuid"], racetrap.torch.check_inline(sources[file], function, *inputs, *outputs)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    definition, solution = (json.loads(Path(name).read_text()) for name in sys.argv[1:3])
    workloads = [json.loads(line) for line in Path(sys.argv[3]).read_text().splitlines() if line.strip()]
    reports = list(check(definition, solution, workloads))
    for uuid, report in reports:
        print(f"{uuid}: {report.verdict}\n{report}")
    sys.exit(0 if all(report.is_clean for _, report in reports) else 1)
