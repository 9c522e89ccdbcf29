"""`racetrap.check`."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Union

from . import _native
from ._arguments import Buffer, Wire, wire
from ._errors import ArgumentError, Error, raise_error
from ._report import Report

Extent = Union[int, "tuple[int, ...]", "Sequence[int]"]


def extent(value: Extent | None, what: str) -> tuple[int, int, int] | None:
    """One, two or three sizes as three."""
    if value is None:
        return None
    sizes = (value,) if isinstance(value, int) else tuple(int(size) for size in value)
    if not 1 <= len(sizes) <= 3 or any(not 0 <= size < 1 << 32 for size in sizes):
        raise ArgumentError(f"`{what}` is {value!r}: one, two or three sizes are wanted", "launch")
    x, y, z = (*sizes, 1, 1)[:3]
    return (x, y, z)


def _is_ptx(text: str) -> bool:
    return re.search(r"^\s*\.version\s+\d", text, re.MULTILINE) is not None


def _compiler_of_wheels() -> None:
    """Lets the compiler be found that `pip install racetrap[cuda]` has brought. (`racetrap setup`'s is found anyway.)"""
    import importlib.util

    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or () if spec else ():
        for toolkit in sorted(Path(folder).glob("cu*"), reverse=True):
            if (toolkit / "bin/nvcc").is_file():
                _native.toolkit(toolkit)
                return


def run(
    *,
    ptx: str | None = None,
    file: str | None = None,
    kernel: str | None = None,
    grid: Extent | None = None,
    block: Extent | None = None,
    shared: int | None = None,
    cooperative: bool = False,
    wired: list[Wire],
    buffers: Iterable[Buffer] = (),
    names: Sequence[str | None] = (),
    schedules: int | None = None,
    schedule: str | None = None,
    inputs: int | None = None,
    seed: int | None = None,
    timeout: float | None = None,
    max_steps: int | None = None,
    jobs: int | None = None,
    defines: Mapping[str, object] | Sequence[str] = (),
    includes: Sequence[str | os.PathLike[str]] = (),
    std: str | None = None,
    arch: str | None = None,
    by_design: frozenset[str] = frozenset(),
) -> Report:
    """Runs the native part: what adapters and `check` have in common."""
    if isinstance(defines, Mapping):
        defines = [name if value is None else f"{name}={value}" for name, value in defines.items()]
    try:
        checked = _native.check(
            ptx=ptx,
            file=file,
            kernel=kernel,
            grid=extent(grid, "grid"),
            block=extent(block, "block"),
            shared=shared,
            cooperative=cooperative,
            args=wired,
            names=list(names),
            schedules=schedules,
            schedule=schedule,
            inputs=inputs,
            seed=seed,
            timeout=timeout,
            max_steps=max_steps,
            jobs=jobs,
            defines=list(defines),
            includes=[os.fspath(folder) for folder in includes],
            std=std,
            arch=arch,
        )
    except _native.Failure as failure:
        kind, message = failure.args
        error = failure
    else:
        report = Report(checked, by_design)
        # Where it could not be run, nothing was written.
        for buffer in buffers if report.verdict != "unsupported" else ():
            buffer.put(checked)
        return report
    raise_error(kind, message)


def check(
    source: str | os.PathLike[str],
    kernel: str | None = None,
    *,
    grid: Extent | None = None,
    block: Extent | None = None,
    args: Sequence[Any] = (),
    shared: int | None = None,
    cooperative: bool = False,
    schedules: int | None = None,
    schedule: str | None = None,
    inputs: int | None = None,
    seed: int | None = None,
    timeout: float | None = None,
    max_steps: int | None = None,
    jobs: int | None = None,
    defines: Mapping[str, object] | Sequence[str] = (),
    includes: Sequence[str | os.PathLike[str]] = (),
    std: str | None = None,
    arch: str | None = None,
) -> Report:
    """Runs a kernel on the simulator, under several schedules, and says what is wrong with it.

    Args:
        source: CUDA source or PTX: the path of a file (`.cu`, `.ptx`), or a text of several lines. CUDA source needs a compiler
            (`racetrap setup`, or `pip install racetrap[cuda]`), PTX needs nothing.
        kernel: Its name, plain or mangled; needless where there is one.
        grid, block: Sizes: `4`, `(4, 2)`, `(4, 2, 1)`. Guessed where left out.
        args: In the order of the parameters. Arrays of any shape (NumPy arrays, what has a buffer, `__array_interface__` or DLPack on the
            CPU) become memory that the parameter points at, and hold afterwards what the kernel wrote under the first schedule.
            Numbers take the parameter's type. `ctypes` structures are passed by value, `None` is a null pointer. A text is an argument in
            the notation of `racetrap check --arg`, such as `"i32[1024]:random"`. Those left out are guessed.
        shared: Bytes of dynamic shared memory.
        cooperative: Whether the launch is cooperative.
        schedules: How many schedules are tried where the result may depend on them; 8 unless told.
        schedule: This one alone: `"lockstep"`, `"random:7"`.
        inputs: How many sets of guessed values are tried.
        seed: Of random inputs and schedules.
        timeout: Seconds for everything; 120 unless told.
        max_steps: Warp-instructions of a launch, at most.
        jobs: Cores.
        defines: Macros for the compiler: `{"N": 64, "DEBUG": None}`, or `["N=64"]`.
        includes: Folders with headers.
        std, arch: As nvcc takes them: `"c++17"`, `"sm_80"`.

    Returns:
        The report. A kernel with bugs is no error: `Report.raise_for_findings` makes it one.

    Raises:
        CompileError: The compiler refuses the source.
        NoCompilerError: There is no compiler.
        ArgumentError: An argument does not fit its parameter, or can't be passed.
        LaunchError: No GPU can launch the kernel so.
        Error: Anything else that stops it before there is a verdict.
        KeyboardInterrupt: At once.
    """
    wired, buffers = wire(args)
    text = None if isinstance(source, os.PathLike) or "\n" not in source else source
    options: dict[str, Any] = dict(
        kernel=kernel,
        grid=grid,
        block=block,
        shared=shared,
        cooperative=cooperative,
        wired=wired,
        buffers=buffers,
        schedules=schedules,
        schedule=schedule,
        inputs=inputs,
        seed=seed,
        timeout=timeout,
        max_steps=max_steps,
        jobs=jobs,
        defines=defines,
        includes=includes,
        std=std,
        arch=arch,
    )
    if text is not None and _is_ptx(text):
        return run(ptx=text, **options)
    _compiler_of_wheels()
    if text is None:
        return run(file=os.fspath(source), **options)
    with tempfile.TemporaryDirectory(prefix="racetrap-") as folder:
        file = Path(folder, "kernel.cu")
        file.write_text(text)
        return run(file=str(file), **options)


__all__ = ["Error", "check"]
