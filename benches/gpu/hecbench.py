#!/usr/bin/env python3
"""Builds programs of HeCBench (https://github.com/zjin-lcf/HeCBench, fetched by you, never part of this repository), runs them natively and under
`racetrap exec --on gpu`, and prints a table: what was built, run and watched, the kernels' time, the whole time, and what was reported.

    benches/gpu/hecbench.py WORK --checkout HECBENCH [--build-only] [NAME…]     build, where nvcc is
    benches/gpu/hecbench.py WORK --run-only [--racetrap PROGRAM] [--limit S]    run, where the GPU is
    benches/gpu/hecbench.py WORK --table

WORK keeps the programs and `results.jsonl`, a line a program, so a run can be ended and taken up again: what has a line is not run again. HECBENCH is a
checkout, or its git directory. Modules are loaded before kernels are timed (`CUDA_MODULE_LOADING=EAGER`). Kernel times are what each program prints, by the patterns of its own script (`scripts/benchmarks/subset.json`), so a
program without one has whole times alone. The arguments are its own, or those of `--arguments FILE` (JSON: name to list).
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PATTERNS = "scripts/benchmarks/subset.json"


def extract(checkout, work, names):
    """Sources of these programs (or of all that have a pattern), and the patterns."""
    source = pathlib.Path(checkout)
    if (source / "src").is_dir():
        known = json.loads((source / "src" / PATTERNS).read_text())
        for name in names or known:
            if (source / f"src/{name}-cuda").is_dir():
                shutil.copytree(source / f"src/{name}-cuda", work / f"src/{name}-cuda", dirs_exist_ok=True)
        shutil.copytree(source / "src/include", work / "src/include", dirs_exist_ok=True)
    else:
        git = ["git", "-C", str(source)]
        known = json.loads(subprocess.run([*git, "show", f"HEAD:src/{PATTERNS}"], check=True, capture_output=True).stdout)
        there = set(subprocess.run([*git, "ls-tree", "--name-only", "HEAD:src"], check=True, capture_output=True, text=True).stdout.split())
        folders = [f"src/{name}-cuda" for name in names or known if f"{name}-cuda" in there]
        folders += ["src/include"] if "include" in there else []
        archive = subprocess.run([*git, "archive", "HEAD", *folders], check=True, capture_output=True).stdout
        subprocess.run(["tar", "x", "-C", str(work)], input=archive, check=True)
    (work / "patterns.json").write_text(json.dumps(known))


def build(work, nvcc, name):
    """Compiles a program to PTX with lines; whether it could."""
    folder = work / f"src/{name}-cuda"
    flags = ["ARCH=compute_75", "EXTRA_CFLAGS=-lineinfo", f"CC={nvcc}"]
    with open(folder / "build.log", "w") as log:
        made = subprocess.run(["make", "-C", folder, *flags, "program=main", "main"], stdout=log, stderr=log, timeout=300)
    if made.returncode == 0 and (folder / "main").exists():
        for file in [*folder.glob("*.o"), folder / "build.log"]:
            file.unlink()
        return True
    return False


def once(command, folder, limit, pattern):
    """Exit status, seconds, and the kernels' time as printed, in its own unit."""
    began = time.monotonic()
    try:
        environment = os.environ | {"CUDA_MODULE_LOADING": "EAGER"}
        ran = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit)
        text, status = ran.stdout.decode(errors="replace"), ran.returncode
    except subprocess.TimeoutExpired:
        text, status = "", None
    seconds = time.monotonic() - began
    found = re.findall(pattern, text) if pattern else []
    numbers = [float(f) for f in found if re.fullmatch(r"[0-9.]+(e[+-]?[0-9]+)?", f)]
    return status, seconds, sum(numbers) if numbers else None


def run(work, args, name, pattern, arguments):
    folder = work / f"src/{name}-cuda"
    program = [str((folder / "main").resolve()), *arguments]
    status, seconds, kernels = once(program, folder, args.limit, pattern)
    result = {"name": name, "arguments": arguments, "status": status, "seconds": seconds, "kernels": kernels}
    if status != 0:
        return result
    # The first run makes the driver compile the checks, which it keeps.
    loading = None
    for number in range(2):
        with tempfile.NamedTemporaryFile() as file:
            command = [args.racetrap, "exec", "--on", "gpu", "--format", "json", "--report", file.name, "--timeout", str(args.limit), "--"]
            status, seconds, kernels = once([*command, *program], folder, args.limit + 20, pattern)
            report = json.loads(file.read() or '{"checks": []}')
        loading = loading or seconds
        if seconds >= args.limit:
            break
    check = (report["checks"] or [{"verdict": "none", "summary": "no report", "findings": []}])[0]
    places = sorted({(f["rule"], *(f"{p['file']}:{p['line']}" for p in f["places"])) for f in check["findings"]})
    result["watched"] = {"status": status, "seconds": seconds, "first": loading, "kernels": kernels, "verdict": check["verdict"],
                         "summary": check["summary"], "findings": places}
    return result


def table(results):
    print("| program | kernels, native | with checks | whole, native | with checks | for the first time | verdict |\n|---|---|---|---|---|---|---|")
    factors = []
    for r in results:
        watched = r.get("watched")
        if not watched:
            print(f"| {r['name']} | | | | | | native run failed ({r['status']}) |")
            continue
        native, checked = r["kernels"], watched["kernels"]
        times = ["", ""]
        if native and checked:
            # What falls under checks is a rate.
            factors.append(max(checked / native, native / checked))
            times = [f"{native:.4g}", f"{checked:.4g} ({factors[-1]:.1f}×)"]
        found = f", {len(watched['findings'])}" if watched["findings"] else ""
        print(f"| {r['name']} | {times[0]} | {times[1]} | {r['seconds']:.1f} s | {watched['seconds']:.1f} s | {watched['first']:.1f} s | {watched['verdict']}{found} |")
    if factors:
        print(f"| median of {len(factors)} | 1 | {statistics.median(factors):.1f}× | | | | |")
        print(f"| geometric mean | 1 | {statistics.geometric_mean(factors):.1f}× | | | | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--checkout")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--racetrap", default="racetrap")
    parser.add_argument("--arguments", type=pathlib.Path)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--run-only", action="store_true")
    parser.add_argument("--table", action="store_true")
    args = parser.parse_intermixed_args()
    work = args.work
    work.mkdir(parents=True, exist_ok=True)
    log = work / "results.jsonl"
    done = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    if args.table:
        return table(done)
    if args.checkout:
        extract(args.checkout, work, args.names)
    patterns = json.loads((work / "patterns.json").read_text())
    own = json.loads(args.arguments.read_text()) if args.arguments else {}
    for folder in sorted(work.glob("src/*-cuda")):
        name = folder.name.removesuffix("-cuda")
        if args.names and name not in args.names:
            continue
        if not args.run_only and not (folder / "main").exists():
            print(f"{'built' if build(work, args.nvcc, name) else 'NOT BUILT'} {name}", flush=True)
        if args.build_only or not (folder / "main").exists() or any(r["name"] == name for r in done):
            continue
        pattern, *more = patterns.get(name, [""])
        arguments = own.get(name) or (more[0] if more else [])
        result = run(work, args, name, pattern, [str(a) for a in arguments])
        done.append(result)
        with open(log, "a") as file:
            file.write(json.dumps(result) + "\n")
        print(json.dumps(result), flush=True)
    if not args.build_only:
        table(done)


if __name__ == "__main__":
    sys.exit(main())
