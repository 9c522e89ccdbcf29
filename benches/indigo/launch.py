#!/usr/bin/env python3
"""Launches the first kernel of a PTX file on the GPU: launch.py FILE.ptx BLOCKS THREADS BUFFER… NUMBER, with the content of the files in buffers.

`run.py --on gpu` starts it under `racetrap exec --on gpu`. It calls the driver by itself, so that nothing but Python is needed.
"""
import ctypes
import pathlib
import re
import sys

BEYOND = 4 << 20


def main():
    ptx, blocks, threads, *buffers, number = sys.argv[1:]
    driver = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments):
        error = getattr(driver, name)(*arguments)
        if error:
            sys.exit(f"{name}: error {error}")

    call("cuInit", 0)
    context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    image = pathlib.Path(ptx).read_bytes()
    # Its name is mangled.
    name = re.search(rb"\.entry\s+(\w+)", image)[1]
    call("cuModuleLoadData", ctypes.byref(module), image + b"\0")
    call("cuModuleGetFunction", ctypes.byref(kernel), module, name)
    values = []
    for file in buffers:
        data = pathlib.Path(file).read_bytes()
        address = ctypes.c_uint64()
        # Accesses out of bounds, which some of the kernels make, meet nobody else's there, and read zeros.
        size = ctypes.c_size_t(len(data) + BEYOND)
        call("cuMemAlloc_v2", ctypes.byref(address), size)
        call("cuMemsetD8_v2", address, 0, size)
        call("cuMemcpyHtoD_v2", address, data, ctypes.c_size_t(len(data)))
        values.append(address)
    values.append(ctypes.c_int(int(number)))
    params = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
    call("cuLaunchKernel", kernel, int(blocks), 1, 1, int(threads), 1, 1, 0, None, params, None)
    call("cuCtxSynchronize")


if __name__ == "__main__":
    main()
