"""How many machine-written CUDA kernels that pass their benchmark have a race: checks a public set of them, and prints a table.

    git clone https://github.com/deepreinforce-ai/CUDA-L1
    git -C CUDA-L1 checkout 51e8356bf844101cab2aeeca4bdff47ebb1953b8
    python machine_written.py CUDA-L1/optimized_cuda_code/a100.json [--only 1:23] [--logs FOLDER]

The set has, for each of KernelBench's 250 tasks, a module for PyTorch that a language model has written and that passes the benchmark. Chosen is
every entry whose code has a `__global__` function; none is left out afterwards. Each runs in a process of its own as KernelBench runs it, on the
CPU: the module is made and called with the task's inputs, and where it calls its extension, `racetrap.torch.Extension` runs that function on the
simulator. What PyTorch itself computes, it computes on the CPU. The results are compared with those of the task's own module.

The task's sizes are too large to simulate. Every whole number above a limit that the task defines at its top level is that limit instead, and
`batch_size` is at most 2; the limits are 128 and then 32, and the first with which the extension is called and ends in its time counts.

The table has a row for each verdict. `wrong`: other results than the task's, with such sizes (a kernel may be written for the task's own). `same value`:
several threads write one value to one place. `memory`: accesses outside of arrays, or of what nobody wrote. `not called`: the module computes by PyTorch alone with such sizes, or makes its kernels by another way than
an extension. `refused`: the source uses more of PyTorch than the stand-in has, or does not compile, or is called as PyTorch's bindings can't be.
`too long`: the time was up. The last column counts entries that name no function to `load_inline` which `cpp_sources` does not declare: PyTorch can't
build the others, most of which then compute without their kernel, so the benchmark has passed them for that.

This needs PyTorch, of any kind, and NumPy; and runs the Python of that set as you: use a container.
"""

import argparse
import ast
import collections
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import types
from pathlib import Path

LIMITS = (128, 32)
ORDER = ("race", "barrier", "memory", "wrong", "same value", "clean", "inconclusive", "too long", "refused", "not called")
#: By rules, as `racetrap.judge` has them.
RACES = {"data-race", "insufficient-scope", "non-coherent-read", "async-copy-hazard", "lockstep-assumption", "unordered-communication"}
BARRIERS = {"divergent-barrier", "barrier-after-exit", "invalid-barrier", "warp-sync-mask", "deadlock", "no-progress"}


class Sizes(ast.NodeTransformer):
    """Makes whole numbers of assignments at the top level no larger than a limit."""

    def __init__(self, limit):
        self.limit = limit

    def visit_Module(self, module):
        for node in module.body:
            if isinstance(node, ast.Assign):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
                most = 2 if names == ["batch_size"] else self.limit
                for inner in ast.walk(node.value):
                    if isinstance(inner, ast.Constant) and type(inner.value) is int:
                        inner.value = min(inner.value, most)
        return module


def defined_by(text, limit, name):
    """What a file defines, with sizes within a limit."""
    tree = ast.fix_missing_locations(Sizes(limit).visit(ast.parse(text)))
    space = {"__name__": name, "__file__": os.path.abspath("entry.py")}
    exec(compile(tree, name, "exec"), space)
    return space


class Called:
    """Stands for an extension: its functions run on the simulator."""

    log: list = []
    loads = True

    def __init__(self, cuda, cpp, names, seconds):
        self.cuda, self.cpp, self.seconds, self.made = cuda, cpp, seconds, None
        # `load_inline` writes bindings for the functions that it is told, into C++ that has `cpp_sources` alone before it.
        self.loads = all(re.search(rf"\b{name}\s*\(", "\n".join(cpp)) for name in names)
        bound = dict(re.findall(r'\.def\(\s*"(\w+)"\s*,\s*&?([\w:]+)', "\n".join([*cpp, *cuda])))
        self.names = {**{name: name for name in names}, **bound}

    def __getattr__(self, name):
        if name not in self.names:
            raise AttributeError(name)
        return lambda *args, **keywords: self.call(self.names[name], args, keywords)

    def call(self, function, args, keywords):
        import racetrap
        import racetrap.torch
        import torch

        try:
            Called.loads = Called.loads and self.loads
            if keywords:
                raise racetrap.CompileError(f"`{next(iter(keywords))}` is passed by its name, which this script does not follow", "refused")
            if self.made is None:
                self.made = racetrap.torch.Extension(self.cuda, cpp_sources=self.cpp)
            values = [one.detach() if isinstance(one, torch.Tensor) else one for one in args]
            report = self.made.call(function, *values, timeout=self.seconds)
        except racetrap.CompileError as error:
            Called.log.append({"kind": "refused", "text": str(error)})
            raise
        except racetrap.Error as error:
            Called.log.append({"kind": "too long" if error.kind == "time" else "failed", "text": str(error)})
            raise
        Called.log.append({"kind": report.verdict, "rules": sorted({f.rule for f in report.findings if f.level != "note"}), "text": str(report), "json": report.to_json()})
        if report.returned is None and not report.is_clean:
            raise RuntimeError("the function did not come to its end")
        whole = lambda array: torch.from_numpy(array)
        return [whole(one) for one in report.returned] if isinstance(report.returned, list) else report.returned if report.returned is None else whole(report.returned)


def pretend_a_gpu(seconds):
    """Tensors say that they are on a GPU, and stay on the CPU."""
    import torch
    import torch.overrides
    import torch.utils.cpp_extension as extension

    def texts(value):
        return [value] if isinstance(value, str) else list(value or [])

    def load_inline(name=None, cpp_sources=None, cuda_sources=None, functions=None, **_):
        return Called(texts(cuda_sources), texts(cpp_sources), list(functions or []) if not isinstance(functions, str) else [functions], seconds)

    def load(name=None, sources=None, **_):
        files = [Path(file) for file in texts(sources)]
        of = lambda cuda: [file.read_text() for file in files if (file.suffix == ".cu") == cuda]
        return Called(of(True), of(False), [], seconds)

    extension.load_inline, extension.load = load_inline, load
    itself = lambda self, *_, **__: self
    torch.Tensor.cuda = torch.nn.Module.cuda = itself
    torch.Tensor.is_cuda = property(lambda self: True)
    nothing = lambda *_, **__: None
    torch.cuda.is_available = lambda: True
    torch.cuda.synchronize = torch.cuda.empty_cache = torch.cuda.set_device = torch.cuda.manual_seed = torch.cuda.manual_seed_all = nothing
    torch.cuda.current_device, torch.cuda.device_count = (lambda: 0), (lambda: 1)
    torch.cuda.get_device_capability = lambda *_: (8, 0)
    properties = types.SimpleNamespace(multi_processor_count=108, major=8, minor=0, max_threads_per_block=1024, total_memory=40 << 30, name="A100")
    torch.cuda.get_device_properties = lambda *_: properties
    torch.cuda._lazy_init = nothing

    class Stream(contextlib.nullcontext):
        cuda_stream = 0

        def __init__(self, *_, **__):
            super().__init__()

        def __getattr__(self, name):
            return nothing

    torch.cuda.Stream = torch.cuda.Event = torch.cuda.stream = torch.cuda.current_stream = torch.cuda.default_stream = Stream

    def is_gpu(value):
        return (isinstance(value, torch.device) and value.type == "cuda") or (isinstance(value, str) and value.startswith("cuda"))

    class OnTheCpu(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, kinds, args=(), kwargs=None):
            swap = lambda value: torch.device("cpu") if is_gpu(value) else value
            return function(*map(swap, args), **{name: swap(value) for name, value in (kwargs or {}).items()})

    return OnTheCpu()


def one(entry, limit, seconds):
    """Runs an entry with sizes within a limit: what became of the calls, and whether the results are right."""
    import torch

    Called.log, Called.loads = [], True

    def made(text, name):
        space = defined_by(text, limit, "entry")
        torch.manual_seed(42)
        module = space[name](*task["get_init_inputs"]()) if name == "ModelNew" else space[name](*space["get_init_inputs"]())
        return space, module

    with torch.no_grad(), pretend_a_gpu(seconds):
        task, reference = made(entry["ref_code"], "Model")
        torch.manual_seed(7)
        inputs = task["get_inputs"]()
        copies = [value.clone() if isinstance(value, torch.Tensor) else value for value in inputs]
        wanted = reference(*copies)
        try:
            got = made(entry["custom_code"], "ModelNew")[1](*inputs)
            same = isinstance(got, torch.Tensor) and got.shape == wanted.shape and torch.allclose(got.float(), wanted.float(), rtol=1e-2, atol=1e-2, equal_nan=True)
            result = "right" if same else "wrong"
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    return {"limit": limit, "calls": Called.log, "loads": Called.loads and bool(Called.log), "result": result}


def verdict(run):
    """The worst of what was seen of an entry."""
    kinds = {call["kind"] for call in run["calls"]}
    rules = {rule for call in run["calls"] for rule in call.get("rules", ())}
    if rules & RACES:
        return "race"
    if rules & BARRIERS:
        return "barrier"
    if rules - {"same-value-write"}:
        return "memory"
    for kind in ("too long", "refused"):
        if kind in kinds:
            return kind
    if not kinds:
        return "not called"
    if kinds & {"inconclusive", "unsupported", "failed"}:
        return "inconclusive"
    if run["result"] != "right":
        return "wrong"
    return "same value" if rules else "clean"


def worth_another(run):
    return verdict(run) in ("too long", "not called")


def child(file, key, seconds):
    """The process of one entry."""
    entry = next(row for row in rows(file) if name_of(row) == key)
    run = {"limit": None, "calls": [], "loads": False, "result": "not run"}
    for limit in LIMITS:
        try:
            run = one(entry, limit, seconds)
        except Exception as error:
            # The task's own module can't have such sizes.
            run = {"limit": limit, "calls": [], "loads": False, "result": f"the task: {type(error).__name__}: {error}"}
        if not worth_another(run):
            break
    Path("run.json").write_text(json.dumps({**run, "verdict": verdict(run)}))


def rows(file):
    return [json.loads(line) for line in Path(file).read_text().splitlines()]


def name_of(row):
    return f"{row['level_id']}:{row['task_id']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--only", action="append", default=[], metavar="LEVEL:TASK")
    parser.add_argument("--seconds", type=float, default=60, help="for each call of an extension's function, by the clock")
    parser.add_argument("--logs", type=Path, help="a folder for what was seen of each entry")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    file = os.path.abspath(given.file)
    if given.child:
        return child(file, given.child, given.seconds)
    chosen = [row for row in rows(file) if "__global__" in (row["custom_code"] or "") and (not given.only or name_of(row) in given.only)]
    if given.logs:
        given.logs.mkdir(parents=True, exist_ok=True)
    seen = []
    for row in chosen:
        key = name_of(row)
        kept = given.logs and given.logs / f"{key.replace(':', '-')}.json"
        if kept and kept.is_file():
            run = json.loads(kept.read_text())
        else:
            with tempfile.TemporaryDirectory(prefix="racetrap-") as folder:
                words = [sys.executable, os.path.abspath(__file__), file, "--child", key, "--seconds", str(given.seconds)]
                try:
                    ended = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20 * given.seconds)
                    said = ended.stdout
                except subprocess.TimeoutExpired:
                    said = "the time was up"
                told = Path(folder, "run.json")
                run = json.loads(told.read_text()) if told.is_file() else {"limit": None, "calls": [], "loads": False, "result": said[-2000:], "verdict": "inconclusive"}
            if kept:
                kept.write_text(json.dumps({**run, "said": said}))
        seen.append((run["verdict"], run["loads"]))
        rules = sorted({rule for call in run["calls"] for rule in call.get("rules", ())})
        print(f"{key:7} {run['verdict']:12} limit {run['limit']}, {len(run['calls'])} calls, {' '.join(rules) or run['result'].splitlines()[0][:100]}", flush=True)
    count = collections.Counter(seen)
    print(f"\n{len(seen)} of {len(rows(file))} entries have a kernel\n\n| verdict | entries | of them declared to C++ |\n|---|---|---|")
    for word in ORDER:
        all_of = count[word, True] + count[word, False]
        if all_of:
            print(f"| {word} | {all_of} | {count[word, True]} |")


if __name__ == "__main__":
    main()
