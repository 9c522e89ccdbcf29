#!/usr/bin/env python3
"""Judges the 590 generated kernels of the HiRace artifact (SC'24) and prints what was caught beside the published figures.

    git clone https://github.com/JohnJacobsonIII/HiRace-Artifact-SC24
    cargo build --release
    benches/indigo/run.py HiRace-Artifact-SC24 [--on gpu]

The kernels are those of Indigo 1.3, irregular graph codes with planted bugs. A kernel counts as racy if its file name
names another bug than `boundsBug`; that is the suite's own word for it, checked by nobody here. Graph, data, launch (1,024 blocks of
256 threads) and arguments are those of the artifact's `main`: the data is what the C library's rand() gives.
Caught means that racetrap reports a race (data-race, same-value-write, insufficient-scope or lockstep-assumption) in a racy
kernel; a false alarm, that it does so in one of the others. With `--on gpu`, each kernel runs once on the machine's GPU, and no race is the
verdict also where some accesses could not be watched.

Needs nvcc: on the path, in CUDA_PATH, or installed by ci/cuda-toolkit.sh. Nothing of the artifact is part of racetrap.
"""

import argparse
import ctypes
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parents[2]
BLOCKS, THREADS = 1024, 256
RACES = {"data-race", "same-value-write", "insufficient-scope", "lockstep-assumption"}

# Table 1 of the paper, where it gives a figure: races found of 346. File, then HiRace, iGUARD, compute-sanitizer's racecheck.
GRAPHS = {
    "DAG_100n": ("DAG_100n_200e.egr", 346, 298, 92),
    "power_law": ("power_law_200n_1000e.egr", 346, None, None),
    "DAG_5n": ("DAG_5n_5e.egr", 182, None, None),
    "counterDAG_5n": ("counterDAG_5n_5e.egr", 295, None, None),
}


def find_nvcc():
    """The compiler, or None."""
    places = [os.environ.get("CUDA_PATH", ""), str(HERE / ".toolchain/cuda")]
    for place in filter(None, places):
        nvcc = pathlib.Path(place) / "bin/nvcc"
        if nvcc.exists():
            return str(nvcc)
    return shutil.which("nvcc")


def read_graph(path):
    """Node and edge count, index list and neighbour list of a file in ECL's format."""
    data = path.read_bytes()
    nodes, edges = struct.unpack_from("<ii", data)
    index = data[8 : 8 + 4 * (nodes + 1)]
    neighbours = data[8 + 4 * (nodes + 1) :][: 4 * edges]
    if len(index) != 4 * (nodes + 1) or len(neighbours) != 4 * edges:
        sys.exit(f"{path}: not a graph in ECL's format")
    return nodes, edges, index, neighbours


def write_inputs(path, folder):
    """Writes the buffers that the artifact's main makes of a graph; the arguments for racetrap."""
    nodes, edges, index, neighbours = read_graph(path)
    edges = max(edges, 1)
    size = max(nodes, edges)
    libc = ctypes.CDLL(None)
    libc.srand(1)
    data = [[0] + [libc.rand() % n for _ in range(size - 1)] for n in (nodes, edges)]
    buffers = [index, neighbours.ljust(4, b"\0")] + [struct.pack(f"<{size}i", *d) for d in data]
    arguments, files = [], []
    for number, buffer in enumerate(buffers):
        file = folder / f"{path.stem}.{number}"
        file.write_bytes(buffer)
        arguments += ["--arg", f"{number}=i32[{len(buffer) // 4}]:@{file}"]
        files.append(str(file))
    return arguments + ["--arg", f"4={nodes}"], [*files, str(nodes)]


def compile_kernel(nvcc, include, source, folder):
    """The kernel's PTX, which may be there already."""
    ptx = folder / (source.stem + ".ptx")
    if ptx.exists():
        return ptx
    command = [nvcc, "-ptx", "-arch=sm_90", "-lineinfo", f"-I{include}", "-o", str(ptx), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return ptx


def judge(racetrap, ptx, arguments):
    """The rules that a kernel breaks, or the reason why that could not be told."""
    launch = ["--entry", "test_kernel", "--grid", str(BLOCKS), "--block", str(THREADS)]
    command = [racetrap, "check", str(ptx), *launch, *arguments, "--jobs", "1", "--format", "json"]
    ran = subprocess.run(command, capture_output=True, text=True)
    try:
        check = json.loads(ran.stdout)["checks"][0]
    except (ValueError, KeyError, IndexError):
        return None, (ran.stderr or ran.stdout).strip()[:300]
    rules = {finding["rule"] for finding in check["findings"]}
    if check["verdict"] in ("clean", "findings"):
        return rules, None
    return (rules, None) if rules & RACES else (None, check["summary"])


def judge_on_gpu(racetrap, ptx, arguments, scratch):
    """The same on the machine's GPU."""
    report = scratch / (ptx.stem + ".json")
    launch = [sys.executable, str(HERE / "benches/indigo/launch.py"), str(ptx), str(BLOCKS), str(THREADS), *arguments]
    options = ["--on", "gpu", "--format", "json", "--report", str(report), "--timeout", "60"]
    ran = subprocess.run([racetrap, "exec", *options, "--", *launch], capture_output=True, text=True)
    try:
        check = json.loads(report.read_text())["checks"][0]
    except (OSError, ValueError, KeyError, IndexError):
        return None, (ran.stderr or ran.stdout).strip()[:300]
    rules = {finding["rule"] for finding in check["findings"]}
    watched = "watched" in check["summary"] and "none" not in check["summary"]
    if ran.returncode not in (0, 1, 3) or not (rules & RACES or watched):
        return None, f"status {ran.returncode}: {check['summary']}"
    return rules, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("artifact", type=pathlib.Path, help="a checkout of HiRace-Artifact-SC24")
    parser.add_argument("--racetrap", default=str(HERE / "target/release/racetrap"))
    parser.add_argument("--graph", choices=GRAPHS, action="append", help="this graph alone")
    parser.add_argument("--only", default="", help="kernels whose file names contain this")
    parser.add_argument("--on", choices=["simulator", "gpu"], default="simulator")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--ptx", type=pathlib.Path, help="keep the compiled kernels here, and use those that are here")
    parser.add_argument("--compile", action="store_true", help="compile alone, for a machine that has a GPU and no nvcc")
    args = parser.parse_args()
    nvcc = find_nvcc() or "nvcc"
    indigo = args.artifact / "indigo"
    sources = sorted((indigo / "indigo_sources").rglob("*.cu"))
    sources = [s for s in sources if args.only in s.name]
    if not sources:
        sys.exit(f"{indigo}: no kernels")
    racy = {s.stem for s in sources if "Bug" in s.stem.replace("boundsBug", "")}
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="indigo-"))
    kept = args.ptx or scratch
    kept.mkdir(parents=True, exist_ok=True)
    pool = ThreadPoolExecutor(args.cores)
    try:
        all_ptx = list(pool.map(lambda s: compile_kernel(nvcc, indigo / "indigo_include", s, kept), sources))
        if not args.compile:
            run(args, pool, indigo, sources, all_ptx, racy, scratch)
    except FileNotFoundError as error:
        sys.exit(f"{error}: set CUDA_PATH or run ci/cuda-toolkit.sh")
    finally:
        shutil.rmtree(scratch)


def run(args, pool, indigo, sources, all_ptx, racy, scratch):
    print(f"{len(sources)} kernels, {len(racy)} of them racy by their names; {BLOCKS} x {THREADS} threads\n")
    print("| graph | racetrap | false alarms | untold | HiRace | iGUARD | racecheck | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    details = []
    for name in args.graph or GRAPHS:
        file, *published = GRAPHS[name]
        arguments, files = write_inputs(indigo / "input" / file, scratch)
        began = time.monotonic()
        caught, alarms, untold = 0, 0, 0
        if args.on == "gpu":
            results = pool.map(lambda ptx: judge_on_gpu(args.racetrap, ptx, files, scratch), all_ptx)
        else:
            results = pool.map(lambda ptx: judge(args.racetrap, ptx, arguments), all_ptx)
        for source, (rules, why) in zip(sources, results):
            if rules is None:
                untold += 1
                details.append(f"{name}: {source.stem}: {why}")
            elif rules & RACES and source.stem in racy:
                caught += 1
            elif rules & RACES:
                alarms += 1
                details.append(f"{name}: {source.stem}: false alarm: {', '.join(sorted(rules))}")
            elif source.stem in racy:
                details.append(f"{name}: {source.stem}: missed")
        figures = " | ".join("" if p is None else str(p) for p in published)
        seconds = time.monotonic() - began
        clean = len(sources) - len(racy)
        print(f"| {name} | {caught}/{len(racy)} | {alarms}/{clean} | {untold} | {figures} | {seconds:.0f} |", flush=True)
    print("\nHiRace, iGUARD and racecheck: races found of 346, as the paper has them, on its GPU.")
    if details:
        print("\n" + "\n".join(details))


if __name__ == "__main__":
    main()
