#!/usr/bin/env python3
"""Compiles the kernels of pairs.yaml with three compilers and packs their PTX into ptx/; and machine code of ordinary.cu for each target, as
nvdisasm prints it, into listings.gz.

    python3 crates/ptxdiff/tests/suite/make.py NVCC [FOLDER]

NVCC is the compiler of CUDA 13.0 (ci/cuda-toolkit.sh installs it). NVRTC of CUDA 12.0 and 12.4 is fetched from PyPI into FOLDER (default: a
temporary one). Debug sections are left out, and files are called by their names alone.
"""
import gzip
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NVRTC = HERE.parents[2] / "toolchain/src/nvrtc.py"
ARCH = "80"
TARGETS = ["75", "80", "86", "87", "88", "89", "90", "100", "103", "110", "120", "121"]


def builds():
    """What is compiled: a source and flags, in the order of the pairs."""
    found = []
    for line in (HERE / "pairs.yaml").read_text().splitlines():
        source = re.search(r"source: (\w+)", line)
        for side in "ab" if source else "":
            flags = re.search(side + r': "([^"]*)"', line)
            build = (source[1], flags[1] if flags else "")
            if build not in found:
                found.append(build)
    return sorted(found)


def tidy(ptx):
    """Without debug sections and the names of folders."""
    ptx = re.sub(r'(\.file\s+\d+ )"[^"]*?([^"/]+)"(, \d+, \d+)?', r'\1"\2"', ptx)
    ptx = re.sub(r"^\s*\.section\s+\.debug.*?^\s*\}\n?", "", ptx, flags=re.M | re.S)
    return "\n".join(line.rstrip() for line in ptx.splitlines() if line.strip()) + "\n"


def nvcc(program, source, flags, out):
    subprocess.run([program, "-ptx", f"-arch=sm_{ARCH}", *flags, "-o", out, source], cwd=HERE, check=True)


def nvrtc(folder, release, source, flags, out):
    root = folder / release
    if not root.exists():
        packages = [f"nvidia-cuda-nvrtc-cu12=={release}.*"]
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:",
                        "--target", root, *packages], check=True)
    subprocess.run([sys.executable, NVRTC, root / "nvidia/cuda_nvrtc/lib", source, out,
                    f"--gpu-architecture=compute_{ARCH}", "-std=c++17", *flags], cwd=HERE, check=True)


def listings(program, out):
    """What nvdisasm prints of ordinary.cu, but for its largest kernel, by target."""
    parts = []
    for target in TARGETS:
        subprocess.run([program, "-cubin", f"-arch=sm_{target}", "-lineinfo", "-o", out, "ordinary.cu"], cwd=HERE, check=True)
        nvdisasm = pathlib.Path(program).with_name("nvdisasm")
        text = subprocess.run([nvdisasm, "-g", "-c", out], check=True, capture_output=True, text=True).stdout
        text = re.sub(r'File "[^"]*/', 'File "', text)
        text = re.sub(r"^\s*\.section\s+\.text\.multiplied.*?(?=^//-----)", "", text, flags=re.M | re.S)
        parts.append(f"//// sm_{target}\n" + text)
    packed = gzip.compress("".join(parts).encode(), 9, mtime=0)
    (HERE / "listings.gz").write_bytes(packed)
    print("listings,", len(parts), "targets,", len(packed), "bytes")


def main():
    program = str(pathlib.Path(sys.argv[1]).absolute())
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else scratch)
        out = pathlib.Path(scratch) / "out.ptx"
        for name in ["nvrtc-12.0", "nvrtc-12.4", "nvcc-13.0"]:
            parts = []
            for source, given in builds():
                flags = given.split()
                flags += [] if "-G" in flags else ["-lineinfo"]
                if name.startswith("nvcc"):
                    nvcc(program, source + ".cu", flags, out)
                else:
                    nvrtc(folder, name.split("-")[1], source + ".cu", flags, out)
                parts.append(f"//// {source} {given}".rstrip() + "\n" + tidy(out.read_text()))
            (HERE / "ptx").mkdir(exist_ok=True)
            packed = gzip.compress("".join(parts).encode(), 9, mtime=0)
            (HERE / "ptx" / (name + ".gz")).write_bytes(packed)
            print(name, len(parts), "builds,", len(packed), "bytes")
        listings(program, out)


main()
