"""Kernels of Numba: `numba.cuda` of Numba 0.60 and of the package numba-cuda. No GPU and no driver are needed, only libNVVM.

>>> racetrap.numba.check(kernel[grid, block], array, 5)   # doctest: +SKIP
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import textwrap
from collections.abc import Sequence
from typing import Any

from ._arguments import Buffer, Wire, wire
from ._check import run
from ._errors import ArgumentError
from ._report import Report


def _flat(value: Any, kind: Any, position: int, name: str, wired: list[Wire], buffers: list[Buffer], names: list[str | None]) -> None:
    """One argument as Numba passes it (`numba.cuda.dispatcher`, `_prepare_args`): an array is two null pointers, the number of elements,
    their size, the address, the shape and the strides. `names` gets the name of each part."""
    import numba.core.types as types
    import numpy

    if isinstance(kind, types.Array):
        array = numpy.asarray(value)
        if not array.flags.c_contiguous and not array.flags.f_contiguous:
            raise ArgumentError(f"argument {position} is not contiguous in memory", "argument")
        one, new = wire([array])
        wired += ["0", "0", str(array.size), str(array.itemsize)]
        for buffer in new:
            start, end = buffer.span
            same = next((b for b in buffers if start < b.span[1] and b.span[0] < end), None)
            if same is not None and same.span != (start, end):
                raise ArgumentError(f"argument {position} overlaps with another one in memory", "argument")
            if same is not None:
                one = [f"&{same.position}"]
                continue
            buffer.position = len(wired)
            buffers.append(buffer)
        wired += one
        wired += [str(size) for size in array.shape] + [str(stride) for stride in array.strides]
        names += [f"{name}.meminfo", f"{name}.parent", f"{name}.size", f"{name}.itemsize", name]
        names += [f"{name}.{what}[{axis}]" for what in ("shape", "strides") for axis in range(array.ndim)]
        return
    if isinstance(kind, (types.UniTuple, types.Tuple)):
        for index, (one_value, one_kind) in enumerate(zip(value, kind)):
            _flat(one_value, one_kind, position, f"{name}[{index}]", wired, buffers, names)
    elif isinstance(kind, types.Complex):
        wired += [repr(float(value.real)), repr(float(value.imag))]
        names += [f"{name}.real", f"{name}.imag"]
    elif isinstance(kind, types.Boolean):
        wired.append(str(int(bool(value))))
        names.append(name)
    elif isinstance(kind, (types.Integer, types.IntegerLiteral)):
        wired.append(str(int(value)))
        names.append(name)
    elif isinstance(kind, types.Float):
        wired += wire([float(value)])[0]
        names.append(name)
    else:
        raise ArgumentError(f"argument {position} has Numba's type {kind}, which can't be passed yet", "argument")


def let_compile(capability: tuple[int, int]) -> None:
    """Numba 0.60 asks the runtime for what libNVVM can compile for; without a GPU there need not be one."""
    from numba.cuda.cudadrv import nvvm

    supported = getattr(nvvm, "get_supported_ccs", None)
    if supported is not None and not supported():
        nvvm.get_supported_ccs = lambda: (capability,)


def _compile(function: Any, types: Sequence[Any], capability: tuple[int, int]) -> str:
    from numba import cuda  # pyright: ignore[reportAttributeAccessIssue] # Not this file, which pyright takes where Numba is missing.
    let_compile(capability)
    ptx, _ = cuda.compile_ptx(function, tuple(types), lineinfo=True, cc=capability)
    return str(ptx)


def _with_names_of_arrays(ptx: str, function: Any) -> str:
    """Numba calls a shared array `_cudapy_smem` and a number. It gets the name that the function gives it, where the PTX has one such array and
    the function makes one. (Of several, nothing says which is which.)"""
    declared = list(dict.fromkeys(re.findall(r"^\s*(?:\.\w+\s+)*\.shared\b.*?\b(_cudapy_smem\w*)", ptx, re.MULTILINE)))
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        return ptx
    made = [
        node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).endswith("shared.array")
    ]
    if len(declared) != 1 or len(made) != 1 or re.search(rf"\b{made[0]}\b", ptx):
        return ptx
    return re.sub(rf"\b{declared[0]}\b", made[0], ptx)


def check(
    launch: Any,
    *args: Any,
    capability: tuple[int, int] = (8, 0),
    **options: Any,
) -> Report:
    """Runs a kernel of Numba on the simulator. Findings name the lines of the Python source.

    Args:
        launch: What Numba makes of a kernel and a launch: `kernel[grid, block]`, `kernel[grid, block, stream, shared]`.
        args: As the kernel takes them: NumPy arrays, which hold afterwards what the kernel wrote, numbers, tuples of these.
        capability: The compute capability that is compiled for.
        options: As `racetrap.check` takes them: `schedules`, `seed`, `timeout`, …

    Raises:
        TypeError: `launch` is a kernel without a launch.
        numba.core.errors.NumbaError: Numba can't compile the kernel.
        Error: As `racetrap.check`.
    """
    import numba

    dispatcher = getattr(launch, "dispatcher", None)
    if dispatcher is None:
        raise TypeError("`racetrap.numba.check` takes `kernel[grid, block]`, then the arguments")
    typeof = getattr(numba, "typeof")
    types = [typeof(value) for value in args]
    wired: list[Wire] = []
    buffers: list[Buffer] = []
    names: list[str | None] = []
    called = dispatcher.py_func.__code__.co_varnames
    for position, (value, kind) in enumerate(zip(args, types)):
        _flat(value, kind, position, called[position] if position < len(called) else str(position), wired, buffers, names)
    return run(
        ptx=_with_names_of_arrays(_compile(dispatcher.py_func, types, capability), dispatcher.py_func),
        # Where the source is that lines are quoted from.
        includes=[os.path.dirname(os.path.abspath(dispatcher.py_func.__code__.co_filename))],
        grid=launch.griddim,
        block=launch.blockdim,
        shared=launch.sharedmem or None,
        wired=wired,
        buffers=buffers,
        names=names,
        **options,
    )
