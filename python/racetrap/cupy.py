"""Kernels of CuPy: the CUDA source of `RawKernel` and `RawModule`, compiled by nvcc instead of NVRTC. No GPU is needed, nor CuPy itself.

>>> racetrap.cupy.check(kernel, (1,), (64,), (array,))   # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._check import Extent, check as _check
from ._report import Report


def _options(options: Sequence[str]) -> dict[str, Any]:
    """What NVRTC is told, as `racetrap.check` takes it."""
    found: dict[str, Any] = {"defines": [], "includes": []}
    rest = list(options)
    while rest:
        option = rest.pop(0)
        for letter, name in (("-D", "defines"), ("-I", "includes")):
            if option == letter and rest:
                found[name].append(rest.pop(0))
            elif option.startswith(letter) and option != letter:
                found[name].append(option[2:])
        if option.startswith(("--std=", "-std=")):
            found["std"] = option.split("=", 1)[1]
    return found


def check(
    kernel: Any,
    grid: Extent,
    block: Extent,
    args: Sequence[Any] = (),
    *,
    shared_mem: int = 0,
    name: str | None = None,
    **options: Any,
) -> Report:
    """Runs a kernel of CuPy on the simulator, called as CuPy calls it: `kernel(grid, block, args)`.

    Args:
        kernel: A `cupy.RawKernel`; a `cupy.RawModule` with `name`; or the source with `name`.
        grid, block, args, shared_mem: As for the launch; arrays are NumPy's, and hold afterwards what the kernel wrote.
        options: As `racetrap.check` takes them.
    """
    source = kernel if isinstance(kernel, str) else kernel.code
    if source is None:
        raise TypeError("the kernel has no source: it was made from a binary")
    name = name or getattr(kernel, "name", None)
    told = _options(getattr(kernel, "options", ()) or ())
    return _check(
        source if "\n" in source else source + "\n",
        name,
        grid=grid,
        block=block,
        args=args,
        shared=shared_mem or None,
        **{**told, **options},
    )
