#!/usr/bin/env python3
"""Prints what race checks on a GPU cost: five kernels natively, under `racetrap exec --on gpu`, and under racecheck.

    nvcc -O3 -lineinfo -gencode arch=compute_75,code=compute_75 -o five benches/gpu/five.cu
    nvcc -O3 -lineinfo -gencode arch=compute_75,code=compute_75 -o racy benches/gpu/five_racy.cu
    benches/gpu/run.py ./five --racy ./racy [--racetrap PROGRAM] [--repeat N] [--racecheck]

All columns come from one card, one after the other. Times are those of the GPU's own events: the best of N launches. The results of the kernels
must be the native ones, and with `--racy` each of its five kernels must be reported; otherwise the script fails.
"""
import argparse
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile

KERNELS = ["mm", "hist", "scan", "saxpy", "stencil"]


def times(command):
    """Milliseconds and results by kernel, from lines such as `saxpy64M 0.228 ms 1f3a`, and the exit status."""
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=sys.stderr, text=True)
    found = re.findall(r"^(\w+) ([\d.]+) ms (\w+)$", ran.stdout, re.M)
    return {name: float(ms) for name, ms, _ in found}, {name: value for name, _, value in found}, ran.returncode


def report(racetrap, program):
    """The report of a program under race checks."""
    with tempfile.NamedTemporaryFile() as file:
        command = [racetrap, "exec", "--on", "gpu", "--format", "json", "--report", file.name, "--", *program]
        subprocess.run(command, stdout=subprocess.DEVNULL)
        return json.loads(file.read() or b"{}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--racy", help="the five kernels with a race planted in each")
    parser.add_argument("--racetrap", default="racetrap")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--racecheck", action="store_true", help="takes minutes")
    args = parser.parse_args()
    program = [args.program, str(args.repeat)]
    native, results, status = times(program)
    if status or not native:
        sys.exit(f"`{args.program}` failed with status {status}")
    watched, same, status = times([args.racetrap, "exec", "--on", "gpu", "--quiet", "--", *program])
    if status:
        print(f"racetrap ends with status {status}, where it should have nothing to say")
    wrong = [kernel for kernel in native if same.get(kernel) != results[kernel]]
    if wrong:
        print(f"OTHER RESULTS: {', '.join(wrong)}")
    missed = []
    if args.racy:
        told = json.dumps(report(args.racetrap, [args.racy, "1"]).get("checks", []))
        missed = [kernel for kernel in KERNELS if not re.search(rf"\b{kernel}\(", told)]
        print(f"planted races: {5 - len(missed)} of 5 reported{''.join(', not ' + m for m in missed)}")
    columns = [("native", native), ("racetrap", watched)]
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if args.racecheck:
        columns.append(("racecheck", times([tool, "--tool", "racecheck", args.program, "1"])[0]))
    gpu = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], stdout=subprocess.PIPE, text=True
    )
    print(f"Milliseconds on {gpu.stdout.strip() or 'an unknown GPU'}\n")
    print("| kernel | " + " | ".join(name for name, _ in columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for kernel, base in native.items():
        cells = [f"{base:.3f}"]
        cells += [f"{c[kernel]:.3f} ({c[kernel] / base:.1f}×)" if kernel in c else "" for _, c in columns[1:]]
        print(f"| {kernel} | " + " | ".join(cells) + " |")
    means = []
    for _, column in columns[1:]:
        factors = [math.log(column[k] / native[k]) for k in native if k in column]
        means.append(f"{math.exp(sum(factors) / len(factors)):.1f}×" if factors else "")
    print("| geometric mean | 1 | " + " | ".join(means) + " |")
    if status or wrong or missed:
        sys.exit(1)


if __name__ == "__main__":
    main()
