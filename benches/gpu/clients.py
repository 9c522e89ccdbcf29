#!/usr/bin/env python3
"""Runs a right and a racy kernel of each Python client under `racetrap exec --on gpu`, and prints what is told.

    benches/gpu/clients.py [--racetrap PROGRAM] [CLIENT…]

Clients: cupy, triton, torch (an extension that `load_inline` compiles), numba. Those that are not installed are left out. The script fails if a racy
kernel is not reported, or a right one is.
"""
import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

COUNT = 1 << 16
# Two threads write each element, or one.
CUDA = """
__global__ void put(int *x, int racy) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[racy ? i / 2 : i] = i;
}
"""


def cupy(racy):
    import cupy as cp

    kernel = cp.RawKernel('extern "C"' + CUDA, "put", options=("-lineinfo",))
    x = cp.zeros(COUNT, dtype=cp.int32)
    kernel((COUNT // 256,), (256,), (x, cp.int32(racy)))
    cp.cuda.Device().synchronize()


def triton(racy):
    import torch
    import triton_kernel

    x = torch.zeros(COUNT, dtype=torch.int32, device="cuda")
    triton_kernel.put[(COUNT // 256,)](x, RACY=racy, BLOCK=256)
    torch.cuda.synchronize()


TRITON = """
import triton
import triton.language as tl


@triton.jit
def put(x, RACY: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + (i // 2 if RACY else i), i)
"""


def torch(racy):
    import torch
    from torch.utils.cpp_extension import load_inline

    launch = "\nvoid run(torch::Tensor x, int racy) { put<<<x.numel() / 256, 256>>>(x.data_ptr<int>(), racy); }"
    extension = load_inline(
        "put",
        cpp_sources="void run(torch::Tensor x, int racy);",
        cuda_sources=CUDA + launch,
        functions=["run"],
        extra_cuda_cflags=["-lineinfo"],
    )
    x = torch.zeros(COUNT, dtype=torch.int32, device="cuda")
    extension.run(x, int(racy))
    torch.cuda.synchronize()


def numba(racy):
    import numpy
    from numba import cuda

    @cuda.jit(lineinfo=True)
    def put(x, racy):
        i = cuda.grid(1)
        x[i // 2 if racy else i] = i

    x = cuda.to_device(numpy.zeros(COUNT, dtype=numpy.int32))
    put[COUNT // 256, 256](x, racy)
    cuda.synchronize()


CLIENTS = {"cupy": cupy, "triton": triton, "torch": torch, "numba": numba}


def check(racetrap, client, racy):
    """Exit status, rules and the summary."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/triton_kernel.py", "w") as file:
            file.write(TRITON)
        report = f"{folder}/report.json"
        environment = dict(os.environ, PYTHONPATH=folder, TORCH_CUDA_ARCH_LIST="7.5+PTX")
        command = [racetrap, "exec", "--on", "gpu", "--format", "json", "--report", report, "--"]
        command += [sys.executable, __file__, "--run", client, str(int(racy))]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True)
        try:
            told = json.load(open(report))["checks"][0]
        except (OSError, ValueError, LookupError):
            return ran.returncode, {}, ran.stderr[-400:]
        found = {finding["rule"]: finding for finding in told["findings"]}
        return ran.returncode, found, told["summary"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clients", nargs="*", default=[])
    parser.add_argument("--racetrap", default="racetrap")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        CLIENTS[args.run[0]](args.run[1] == "1")
        return
    failed = False
    print("| client | racy | place | right |\n|---|---|---|---|")
    for client in args.clients or CLIENTS:
        if not importlib.util.find_spec(client):
            continue
        status, found, summary = check(args.racetrap, client, True)
        race = found.get("data-race")
        place = "{file}:{line}".format(**race["places"][0]) if race else ""
        right, others, also = check(args.racetrap, client, False)
        failed |= not race or bool(others)
        rules = ", ".join(sorted(found)) or summary.replace("\n", " ")
        also = ", ".join(sorted(others)) or also.replace("\n", " ")
        print(f"| {client} | {status}: {rules} | {place} | {right}: {also} |", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
