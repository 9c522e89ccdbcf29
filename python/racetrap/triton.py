"""Kernels of Triton, compiled without a GPU.

>>> racetrap.triton.check(kernel, (8,), x, y, n, BLOCK=128)   # doctest: +SKIP
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from ._arguments import Wire, wire
from ._check import Extent, run
from ._errors import ArgumentError, ResultError
from ._report import Report

_POINTERS = {
    "bool": "*i1",
    "int8": "*i8",
    "uint8": "*u8",
    "int16": "*i16",
    "uint16": "*u16",
    "int32": "*i32",
    "uint32": "*u32",
    "int64": "*i64",
    "uint64": "*u64",
    "float16": "*fp16",
    "float32": "*fp32",
    "float64": "*fp64",
}

#: Triton's reductions and layouts let several lanes store one value to one word, by design.
BY_DESIGN = frozenset({"same-value-write"})


def _type(value: Any, position: int) -> str:
    """An argument's type as Triton writes it (`triton.runtime.jit`)."""
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        return "i32" if -(1 << 31) <= value < 1 << 31 else "i64"
    if isinstance(value, float):
        return "fp32"
    dtype = str(getattr(value, "dtype", "")).rsplit(".", 1)[-1]
    if dtype in _POINTERS:
        return _POINTERS[dtype]
    raise ArgumentError(f"argument {position} is a {type(value).__name__}: pass arrays of NumPy and numbers", "argument")


def compile_kernel(
    kernel: Any,
    args: Mapping[str, Any],
    constants: Mapping[str, Any],
    *,
    capability: int = 80,
    num_warps: int = 4,
    **options: Any,
) -> Any:
    """What Triton makes of a kernel: the object that `triton.compile` gives. Pointers are aligned to 16 bytes and numbers that 16 divides
    are known to be such, as in a launch."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = {}
    attributes: dict[tuple[int, ...], Any] = {}
    for position, name in enumerate(kernel.arg_names):
        if name in constants:
            signature[name] = "constexpr"
            continue
        value = args[name]
        signature[name] = _type(value, position)
        pointer = signature[name].startswith("*")
        if pointer or (isinstance(value, int) and not isinstance(value, bool) and value % 16 == 0):
            attributes[(position,)] = [["tt.divisibility", 16]]
    source = ASTSource(fn=kernel, signature=signature, constexprs=dict(constants), attrs=attributes)
    target = GPUTarget("cuda", capability, 32)
    make: Any = getattr(triton, "compile")
    return make(source, target=target, options={"num_warps": num_warps, **options})


def _placed(ptx: str) -> str:
    """Without the lines that LLVM gives to instructions of inline assembly: it counts the lines of the assembly's text as if they were the
    source's (Triton 3.9), so the line before them is what counts."""
    assembly = re.compile(r"// begin inline asm.*?// end inline asm", re.DOTALL)
    return assembly.sub(lambda found: re.sub(r"^\s*\.loc\b.*$", "", found[0], flags=re.MULTILINE), ptx)


def _parameters(ptx: str) -> int:
    entry = re.search(r"\.entry[^(]*\((.*?)\)", ptx, re.DOTALL)
    return len(re.findall(r"\.param\b", entry.group(1))) if entry else 0


def check(
    kernel: Any,
    grid: Extent | Callable[[dict[str, Any]], Extent],
    *args: Any,
    num_warps: int = 4,
    num_stages: int = 3,
    capability: int = 80,
    reference: Callable[..., Mapping[str, Any]] | None = None,
    tolerance: float = 1e-3,
    check_options: Mapping[str, Any] | None = None,
    **constexprs: Any,
) -> Report:
    """Runs a kernel of Triton on the simulator. Findings name the lines of the Python source.

    Args:
        kernel: A function with `@triton.jit`. (Of one with `@triton.autotune`, pass `kernel.fn` and a configuration's values.)
        grid: As for a launch: sizes, or a function of the arguments by name that gives them.
        args: Arrays of NumPy, which hold afterwards what the kernel wrote, and numbers, by position.
        num_warps, num_stages: As for a launch.
        capability: 80 for sm_80, 90 for sm_90. A kernel for 90 whose `tl.dot` becomes `wgmma` is `unsupported` where racetrap has no `wgmma`.
        reference: Called with copies of `args` as they were before the launch; gives what arguments must hold afterwards, by their names:
            `lambda out, x, n: {"out": 2 * x}`. Nothing is compared where the run could not end (`unsupported`, `inconclusive`): see the report.
        tolerance: Of the comparison, absolute and relative.
        check_options: As `racetrap.check` takes them: `{"schedules": 16}`.
        constexprs: Further arguments by name: constants, and others.

    Raises:
        ResultError: The arguments hold something else than the reference says.
        ArgumentError: The kernel has no such argument, or one is missing.
        Error: As `racetrap.check`.

    Stores of one value by several lanes to one word are no finding here, because Triton emits them by design: see `Report.by_design`.
    """
    names = list(kernel.arg_names)
    given = {**dict(zip(names, args)), **constexprs}
    unknown = set(given) - set(names)
    if unknown:
        raise ArgumentError(f"the kernel has no argument `{sorted(unknown)[0]}`", "argument")
    constants = {p.name: given[p.name] for p in kernel.params if p.is_constexpr and p.name in given}
    for parameter in kernel.params:
        if parameter.name not in given:
            if not parameter.has_default:
                raise ArgumentError(f"the kernel's argument `{parameter.name}` is missing", "argument")
            given[parameter.name] = parameter.default
            if parameter.is_constexpr:
                constants[parameter.name] = parameter.default
    # None is a constant, too.
    constants.update({name: None for name, value in given.items() if value is None})
    wanted = reference(*[value.copy() if hasattr(value, "copy") else value for value in args]) if reference else {}
    compiled = compile_kernel(kernel, given, constants, capability=capability, num_warps=num_warps, num_stages=num_stages)
    ptx = _placed(compiled.asm["ptx"])
    passed = [name for name in names if name not in constants]
    wired, buffers = wire([given[name] for name in passed])
    # Behind them come addresses of scratch memory, which is there only where a kernel asks for some.
    further: list[Wire] = ["0"] * (_parameters(ptx) - len(wired))
    sizes = grid(dict(given)) if callable(grid) else grid
    report = run(
        ptx=ptx,
        # Where the source is that lines are quoted from.
        includes=[os.path.dirname(os.path.abspath(kernel.fn.__code__.co_filename))],
        kernel=compiled.metadata.name,
        grid=sizes,
        block=32 * num_warps,
        shared=compiled.metadata.shared or None,
        wired=wired + further,
        buffers=buffers,
        names=passed,
        by_design=BY_DESIGN,
        **dict(check_options or {}),
    )
    if report.verdict in ("unsupported", "inconclusive"):
        return report
    for name, value in wanted.items():
        import numpy

        if name not in given:
            raise ArgumentError(f"the reference names an argument `{name}` that the kernel does not have", "argument")
        same = numpy.isclose(given[name], value, rtol=tolerance, atol=tolerance, equal_nan=True)
        if not same.all():
            at = tuple(int(i) for i in numpy.argwhere(~same)[0])
            held, due = numpy.asarray(given[name])[at], numpy.broadcast_to(value, same.shape)[at]
            raise ResultError(f"{int((~same).sum())} of {same.size} elements of `{name}` differ, the first at {list(at)}: {held} instead of {due}", report)
    return report
