#!/usr/bin/env python3
"""Builds and runs public CUDA programs under `racetrap exec`, and prints a table of what came out.

    benches/programs/run.py --samples DIR --rodinia DIR [--only TEXT] [--jobs N] [--out docs/programs.md]

DIR are checkouts of github.com/NVIDIA/cuda-samples and of a repository with Rodinia's folder `cuda`, for example
github.com/yuhc/gpu-rodinia. Nothing of either is part of racetrap. Rodinia's data are a download of their own; `data.py` writes smaller ones.

A program is taken if it needs no graphics, no closed library (cuBLAS, cuFFT, NPP, nvrtc …), no MPI and no second process: its sources' `#include`
lines say so. It is built unmodified, each in a copy of the checkout: samples as one `nvcc` command over the sources of the folder, Rodinia with its own
makefile, both under `racetrap build`. Then it runs with the smallest arguments that its command line allows (ARGUMENTS below).

Columns: whether it builds, what the program says of itself (its exit status, and the words that it prints on success), the findings by rule, seconds,
and what stops it, where something does.

With `--modes`, each program that ends well runs three times more, and a second table says how long without detection, with it, and with other schedules
tried, too: one program at a time.

With `--native`, on a machine with a GPU, the very program that was built runs once more under the toolkit's own runtime (a second time, since the driver
translates its PTX the first time and keeps the result): another column of seconds.

With `--more` the programs that `--only` names run again, and the others' rows stay as an earlier run with the same `--keep` found them: for those that need
the machine for themselves, or for `--modes` of a few.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import threading
import time

import data

HERE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(HERE / "benches"))
from processes import run  # noqa: E402

# What a program needs that has no place here, by what its sources name.
NEEDS = [
    ("graphics", r"GL/|GLFW|glut|glew|freeglut|vulkan|d3d1|EGL/|helper_gl|rendercheck"),
    ("cuBLAS", r"cublas"),
    ("cuFFT", r"cufft"),
    ("cuSPARSE", r"cusparse"),
    ("cuSOLVER", r"cusolver"),
    ("cuRAND's host library", r"<curand\.h>|\"curand\.h\""),
    ("NPP", r"\bnpp|Exceptions\.h"),
    ("nvJPEG", r"nvjpeg"),
    ("nvrtc", r"nvrtc"),
    ("libNVVM", r"nvvm\.h"),
    ("cuDLA, NvSci or NvMedia", r"cudla|nvsci|NvMedia|nvmedia"),
    ("MPI", r"mpi\.h"),
    ("OpenCV or FreeImage", r"opencv|FreeImage"),
    ("several processes", r"helper_multiprocess"),
]

# Samples that do nothing with one GPU.
SEVERAL_GPUS = {"simpleP2P", "streamOrderedAllocationP2P"}

# The smallest arguments that the command line allows; without an entry a program runs without arguments.
ARGUMENTS = {
    "FDTD3d": ["--dimx=96", "--dimy=96", "--dimz=96", "--timesteps=1"],
    "MC_EstimatePiInlineP": ["--sims=100000"],
    "MC_EstimatePiInlineQ": ["--sims=100000"],
    "MC_SingleAsianOptionP": ["--sims=100000"],
    "SobolQRNG": ["--vectors=1024", "--dimensions=8"],
    "UnifiedMemoryPerf": ["-kernel-iterations=1"],
    "cdpAdvancedQuicksort": ["--size=2048"],
    "cdpSimpleQuicksort": ["--num_items=64"],
    "cudaGraphsPerfScaling": ["3", "1", "2", "2", "0", "1", "2"],
    "globalToShmemAsyncCopy": ["-wA=256", "-hA=256", "-wB=256", "-hB=256"],
    "histogram": ["--sizemult=1"],
    "matrixMul": ["-wA=64", "-hA=64", "-wB=64", "-hB=64"],
    "p2pBandwidthLatencyTest": ["--numElems=1024"],
    "radixSortThrust": ["-n=4096", "-iterations=1"],
    "reduction": ["--n=4096"],
    "reductionMultiBlockCG": ["--n=4096"],
    "simpleHyperQ": ["--nstreams=4"],
    "threadFenceReduction": ["--n=4096"],
    "transpose": ["-dimX=64", "-dimY=64"],
    "rodinia/backprop": ["backprop", "1024"],
    "rodinia/bfs": ["bfs.out", "{data}/bfs/graph256.txt"],
    "rodinia/b+tree": ["b+tree.out", "file", "{data}/b+tree/keys.txt", "command", "{data}/b+tree/command.txt"],
    "rodinia/cfd": ["euler3d", "{data}/cfd/mesh.txt"],
    "rodinia/dwt2d": ["dwt2d", "{data}/dwt2d/image.bmp", "-d", "64x64", "-f", "-5", "-l", "3"],
    "rodinia/gaussian": ["gaussian", "-s", "16"],
    "rodinia/hotspot": ["hotspot", "64", "2", "2", "{data}/hotspot/temp_64", "{data}/hotspot/power_64", "output.out"],
    "rodinia/hotspot3D": ["3D", "64", "8", "2", "{data}/hotspot3D/power_64x8", "{data}/hotspot3D/temp_64x8", "output.out"],
    "rodinia/huffman": ["pavle", "{data}/huffman/text.in"],
    "rodinia/hybridsort": ["hybridsort", "r"],
    "rodinia/kmeans": ["kmeans", "-o", "-i", "{data}/kmeans/100"],
    "rodinia/lavaMD": ["lavaMD", "-boxes1d", "2"],
    "rodinia/lud": ["cuda/lud_cuda", "-s", "64", "-v"],
    "rodinia/myocyte": ["myocyte.out", "1", "1", "0"],
    "rodinia/nn": ["nn", "{data}/nn/filelist.txt", "-r", "5", "-lat", "30", "-lng", "90"],
    "rodinia/nw": ["needle", "64", "10"],
    "rodinia/particlefilter": ["particlefilter_naive", "-x", "32", "-y", "32", "-z", "3", "-np", "64"],
    "rodinia/pathfinder": ["pathfinder", "256", "16", "4"],
    "rodinia/srad_v1": ["srad", "2", "0.5", "64", "64"],
    "rodinia/srad_v2": ["srad", "64", "64", "0", "15", "0", "15", "0.5", "1"],
    "rodinia/streamcluster": ["sc_gpu", "4", "8", "16", "256", "256", "64", "none", "output.txt", "1"],
}

# Programs that do nothing on the GPU that is simulated otherwise, and the one that they want.
DEVICES = {
    "bf16TensorCoreGemm": "sm_90",
    "cudaCompressibleMemory": "sm_90",
    "dmmaTensorCoreGemm": "sm_90",
    "tf32TensorCoreGemm": "sm_90",
}

# Words by which a program reports that its result is right, and that it is wrong.
RIGHT = re.compile(r"\bPASS(ED)?\b|\bSUCCESS\b|Test passed|results? (?:match|verified|OK|correct)|\bOK\b", re.I)
WRONG = re.compile(r"\bFAIL(ED|URE)?\b|mismatch|incorrect|CUDA error", re.I)
ERROR = re.compile(r"\berror", re.I)
WAIVED = 2


def needs(folder):
    """What a sample's sources need that there is not."""
    text = ""
    for path in sorted(folder.rglob("*")):
        if path.suffix in {".cu", ".cpp", ".c", ".cuh", ".h", ".hpp"} and path.is_file():
            text += "\n".join(
                line for line in path.read_text(errors="replace").splitlines() if "#include" in line or "#  include" in line
            ) + "\n"
    cmake = folder / "CMakeLists.txt"
    if cmake.exists():
        text += cmake.read_text(errors="replace")
    return [name for name, pattern in NEEDS if re.search(pattern, text, re.I)]


def launches(folder):
    """Whether a sample's sources launch kernels: some only ask what device there is."""
    sources = (path for path in folder.rglob("*") if path.suffix in {".cu", ".cpp", ".c", ".cuh", ".h"} and path.is_file())
    return any(re.search(r"<<<|LaunchKernel|thrust::", path.read_text(errors="replace")) for path in sources)


def samples(root):
    for makefile in sorted(root.glob("Samples/*/*/CMakeLists.txt")):
        folder = makefile.parent
        lacking = needs(folder)
        if folder.parent.name == "7_libNVVM" and "libNVVM" not in lacking:
            lacking.append("libNVVM")
        if folder.name in SEVERAL_GPUS:
            lacking.append("several GPUs")
        yield folder.name, folder, lacking


def rodinia(root):
    for makefile in sorted(root.glob("cuda/*/[Mm]akefile")) + sorted(root.glob("cuda/srad/*/[Mm]akefile")):
        if makefile.parent.name != "srad":
            yield f"rodinia/{makefile.parent.name}", makefile.parent, needs(makefile.parent)


def build_sample(racetrap, name, folder, seconds, includes):
    sources = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.suffix in {".cu", ".cpp", ".c"})
    text = "".join(p.read_text(errors="replace") for p in folder.glob("CMakeLists.txt"))
    flags = ["-std=c++17", "-I", str(folder.parents[2] / "Common"), "-I", str(folder), "-I", str(folder / "inc")]
    flags += [word for include in includes for word in ("-I", str(include))]
    if "CUDA_SEPARABLE_COMPILATION" in text:
        flags += ["-rdc=true"]
    if "OpenMP" in text:
        flags += ["-Xcompiler", "-fopenmp"]
    if "extended-lambda" in text:
        flags += ["--extended-lambda"]
    if "cuda_driver" in text.lower() or "cuda.h" in "".join((folder / s).read_text(errors="replace") for s in sources):
        flags += ["-lcuda"]
    device = ["--device", DEVICES[name]] if name in DEVICES else []
    result = run([racetrap, "build", *device, "--", "nvcc", *flags, "-o", name, *sources], folder, seconds)
    # Modules that the program loads at run time, which its CMakeLists.txt makes by commands of its own.
    for module in re.findall(r"[\w.]+\.(?:fatbin|ptx)\b", text):
        source = folder / (module.split(".")[0].removesuffix("64") + ".cu")
        kind = "-fatbin" if module.endswith(".fatbin") else "-ptx"
        if source.exists():
            target = ["-arch=compute_75"] if kind == "-ptx" else []
            command = [racetrap, "build", "--", "nvcc", kind, *target, *flags, "-o", module, source.name]
            run(command, folder, seconds)
    return result


# Functions that CUDA 13 has under their newer names alone, for Rodinia, which is older.
RENAMED = {"cudaThreadSynchronize": "cudaDeviceSynchronize", "cudaThreadExit": "cudaDeviceReset"}


def build_rodinia(racetrap, copy, folder, seconds, includes):
    """With Rodinia's own makefile, which is told where the toolkit is, and which looks for a part of Rodinia in the home folder.

    Some link with the C compiler what needs C++'s library."""
    environment = dict(os.environ, HOME=str(copy))
    (copy / "rodinia_3.0").symlink_to(copy)
    flags = [f"-D{old}={new}" for old, new in RENAMED.items()] + [f"-I{include}" for include in includes]
    environment["NVCC_APPEND_FLAGS"] = " ".join(flags)
    make = "make CUDA_DIR=$CUDA_PATH CUDA_INSTALL_PATH=$CUDA_PATH CUDA_LIB_DIR=\"$CUDA_PATH/lib64 -lstdc++\""
    return run([racetrap, "build", "--", "sh", "-c", make], folder, seconds, environment)


GPU = threading.Lock()


def native(program, arguments, folder, options):
    """Seconds of the second of two runs on the GPU, by the toolkit's own runtime; `None` where it does not end well."""
    environment = dict(os.environ)
    environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(options.native), environment.get("LD_LIBRARY_PATH")]))
    with GPU:  # One program at a time, or they would measure each other.
        for _ in range(2):
            status, output, seconds = run([str(program), *arguments], folder, 60, environment)
            if status not in (0, WAIVED):
                return None
    return round(seconds, 2)


def try_one(options, name, source, root, scratch):
    row = {"program": name, "builds": False, "says": "", "findings": {}, "seconds": None, "stops": ""}
    copy = scratch / name.replace("/", "_")
    built = options.built and copy.exists()
    output = ""
    if not built:
        shutil.rmtree(copy, ignore_errors=True)
    if built:
        folder = copy / source.relative_to(root)
    elif name.startswith("rodinia/"):
        top = copy / source.relative_to(root).parts[0]
        shutil.copytree(root / "cuda" / source.relative_to(root / "cuda").parts[0], top / source.relative_to(root / "cuda").parts[0], symlinks=True)
        for extra in ("common", "cuda/util"):
            if (root / extra).exists() and not (copy / extra).exists():
                shutil.copytree(root / extra, copy / extra, symlinks=True)
        folder = copy / source.relative_to(root)
        data.write(copy / "data")
        # What was left there by somebody's build.
        for old in folder.rglob("*"):
            if old.is_file() and old.open("rb").read(4) == b"\x7fELF":
                old.unlink()
        includes = [options.samples.resolve() / "Common"] if options.samples else []
        status, output, _ = build_rodinia(options.racetrap, copy, folder, options.build_seconds, includes)
    else:
        folder = copy / source.relative_to(root)
        shutil.copytree(source, folder, symlinks=True)
        (copy / "Common").symlink_to(root / "Common")
        status, output, _ = build_sample(options.racetrap, name, folder, options.build_seconds, options.include)
    arguments = ARGUMENTS.get(name, [])
    if name.startswith("rodinia/"):
        program = folder / (arguments[0] if arguments else name.split("/")[1])
        if not program.exists():
            found = [p for p in folder.rglob("*") if p.is_file() and os.access(p, os.X_OK) and p.read_bytes()[:4] == b"\x7fELF" and p.suffix not in {".o", ".so"}]
            program = found[0] if found else program
        arguments = [a.replace("{data}", os.path.relpath(copy / "data", folder)) for a in arguments[1:]]
    else:
        program = folder / name
    if not program.exists():
        lines = [line for line in output.splitlines() if re.search(r"error|cannot find|No such file", line, re.I)]
        row["stops"] = (lines or output.splitlines() or ["no program came out"])[0][:160]
        return row
    row["builds"] = True
    if options.build_only:
        return row
    if options.native:
        row["native"] = native(program, arguments, folder, options)
    report = scratch / (name.replace("/", "_") + ".json")
    device = ["--device", DEVICES[name]] if name in DEVICES else []
    command = [options.racetrap, "exec", *device, "--format", "json", "--report", str(report), "--timeout", str(options.seconds), "--", str(program), *arguments]
    status, output, seconds = run(command, folder, options.seconds + 60)
    row["seconds"] = round(seconds, 1)
    (scratch / (name.replace("/", "_") + ".txt")).write_text(output)
    row["says"] = (
        "time was up" if status is None
        else "wrong" if not RIGHT.search(output) and (WRONG.search(output) or status not in (0, 1, WAIVED) and ERROR.search(output))
        else "right" if RIGHT.search(output)
        else "nothing"
    )
    row["status"] = status
    try:
        check = json.loads(report.read_text())["checks"][0]
    except (OSError, ValueError, LookupError):
        row["stops"] = "no report"
        return row
    row["verdict"] = check["verdict"]
    if options.modes:
        modes(row, program, arguments, folder, options)
    for finding in check["findings"]:
        if finding["level"] != "note":
            row["findings"][finding["rule"]] = row["findings"].get(finding["rule"], 0) + 1
    summary = check["summary"]
    for words in ("called, and not supported: ", "the program was stopped", "can't be run", "is not supported", "is not implemented", "launched no kernel"):
        if words == "launched no kernel" and not launches(source):
            row["status"] = 0
            continue
        if words in summary and not row["stops"]:
            instruction = re.search(r"`(\S+)[^`]*` \(PTX line \d+\) is not implemented", summary)
            if words == "is not implemented" and instruction:
                row["stops"] = f"{instruction[1]} is not implemented"
                continue
            row["stops"] = summary[summary.index(words) :].split(";")[0].replace("called, and not supported: ", "lacks ")[:160]
    return row


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


# What a run is asked for: no launch watched, all as usual but one schedule, all as usual.
MODES = {
    "detection off": ["--first", "0", "--every", "4000000000"],
    "detection on": ["--schedules", "1"],
    "explored": [],
}


def modes(row, program, arguments, folder, options):
    """Seconds of a run in each mode."""
    for mode, flags in MODES.items():
        command = [options.racetrap, "exec", "--quiet", "--timeout", str(options.seconds), *flags, "--", str(program), *arguments]
        status, _, seconds = run(command, folder, options.seconds + 60)
        row.setdefault("modes", {})[mode] = None if status in (None, 124) else round(seconds, 2)


def times(rows):
    """The table of [`modes`]."""
    lines = ["", "Seconds, one program at a time:", "", "| program | natively | " + " | ".join(MODES) + " |", "|---|---|" + "---|" * len(MODES)]
    for r in sorted((r for r in rows if "modes" in r), key=lambda r: r["program"].lower()):
        cells = [r.get("native"), *(r.get("modes", {}).get(mode) for mode in MODES)]
        lines.append(f"| {r['program']} | " + " | ".join("" if c is None else str(c) for c in cells) + " |")
    return "\n".join(lines) + "\n"


def markdown(rows, left, options):
    """The table of docs/programs.md."""
    # 1 is `exec`'s status where there are findings, and the program's own where there are none.
    ended = [r for r in rows if r.get("status") in (0, WAIVED) or r.get("status") == 1 and r["findings"]]
    succeed = [r for r in ended if r["builds"] and r["says"] in ("right", "nothing") and not r["stops"]]
    native = any("native" in r for r in rows)
    lines = [
        "# Public programs under `racetrap exec`",
        "",
        "Written by `benches/programs/run.py`, which says how each program is built and run. *Own verdict* is what the program prints of its result.",
        "",
        f"{len(rows)} programs; {sum(r['builds'] for r in rows)} build, {len(succeed)} ({100 * len(succeed) // max(len(rows), 1)} %) run to their end with a result that they do not call wrong.",
        "",
        *([options.note, ""] if options.note else []),
        "| program | builds | own verdict | findings | seconds | what stops it |" if not native
        else "| program | builds | own verdict | findings | seconds | natively | what stops it |",
        "|---|---|---|---|---|---|" + ("---|" if native else ""),
    ]
    for r in sorted(rows, key=lambda r: (r["program"].startswith("rodinia/"), r["program"].lower())):
        findings = ", ".join(f"{count} × {rule}" for rule, count in sorted(r["findings"].items()))
        seconds = "" if r["seconds"] is None else r["seconds"]
        own = f" {'' if r.get('native') is None else r['native']} |" if native else ""
        lines.append(f"| {r['program']} | {'yes' if r['builds'] else 'no'} | {r['says']} | {findings} | {seconds} |{own} {cell(r['stops'])} |")
    lines += ["", "Left out, for what they need:", "", "| program | needs |", "|---|---|"]
    lines += [f"| {name} | {', '.join(lacking)} |" for name, _, _, lacking in sorted(left, key=lambda l: l[0].lower())]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=pathlib.Path, help="a checkout of NVIDIA/cuda-samples")
    parser.add_argument("--rodinia", type=pathlib.Path, help="a checkout with Rodinia's folder `cuda`")
    parser.add_argument("--racetrap", default=str(HERE / "target/release/racetrap"))
    parser.add_argument("--only", default="", help="programs whose names this regular expression finds")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=120, help="time of a program")
    parser.add_argument("--build-seconds", type=int, default=600)
    parser.add_argument("--keep", type=pathlib.Path, help="where copies, outputs and reports stay")
    parser.add_argument("--include", action="append", type=pathlib.Path, default=[], help="a further folder with headers, for example cuRAND's")
    parser.add_argument("--build-only", action="store_true", help="run nothing")
    parser.add_argument("--built", action="store_true", help="take what an earlier run with the same `--keep` has built")
    parser.add_argument("--more", action="store_true", help="add to what an earlier run with the same `--keep` has found")
    parser.add_argument("--native", type=pathlib.Path, metavar="DIR", help="the folder of the toolkit's libcudart.so: run natively on this machine's GPU too")
    parser.add_argument("--modes", action="store_true", help="time each program with and without detection and exploration")
    parser.add_argument("--note", default="", help="a sentence above the table: the machine, the commits")
    parser.add_argument("--out", type=pathlib.Path, help="the table as Markdown")
    options = parser.parse_args()
    options.racetrap = str(pathlib.Path(options.racetrap).resolve())
    programs, left = [], []
    for root, found in ((options.samples, samples), (options.rodinia, rodinia)):
        if root is None:
            continue
        for name, folder, lacking in found(root.resolve()):
            if lacking:
                left.append((name, folder, root.resolve(), lacking))
            elif re.search(options.only, name):
                programs.append((name, folder, root.resolve(), lacking))
    scratch = options.keep or pathlib.Path(tempfile.mkdtemp(prefix="racetrap-programs-"))
    scratch.mkdir(parents=True, exist_ok=True)
    rows = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(try_one, options, name, folder, root, scratch): name for name, folder, root, _ in programs}
        for job in concurrent.futures.as_completed(jobs):
            try:
                row = job.result()
            except Exception as error:  # A program that can't be tried is a row, too.
                row = {"program": jobs[job], "builds": False, "says": "", "stops": f"{type(error).__name__}: {error}", "seconds": None, "findings": {}}
            rows.append(row)
            print(json.dumps(row), file=sys.stderr, flush=True)
    if options.more:
        earlier = {row["program"]: row for row in json.loads((scratch / "rows.json").read_text())}
        now = {row["program"]: earlier.get(row["program"], {}) | row for row in rows}
        rows = list((earlier | now).values())
    (scratch / "rows.json").write_text(json.dumps(rows, indent=1))
    table = markdown(rows, left, options) + (times(rows) if any("modes" in row for row in rows) else "")
    if options.out:
        options.out.write_text(table)
    else:
        print(table)


if __name__ == "__main__":
    main()
