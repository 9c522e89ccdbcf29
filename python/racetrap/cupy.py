"""Kernels of CuPy: the CUDA source of `RawKernel`, `RawModule` and `ElementwiseKernel`, compiled by nvcc instead of NVRTC. No GPU is needed,
nor CuPy itself: sources do as well as CuPy's objects.

>>> racetrap.cupy.check(kernel, (1,), (64,), (array,))                                      # doctest: +SKIP
>>> racetrap.cupy.check_elementwise(cupy.ElementwiseKernel("T x", "T y", "y = 2 * x"), x, y)  # doctest: +SKIP
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._check import Extent, check as _check
from ._errors import ArgumentError
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

    Raises:
        TypeError: The kernel was made from a binary.
        Error: As `racetrap.check`.
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


@dataclasses.dataclass(frozen=True)
class Elementwise:
    """What `cupy.ElementwiseKernel` is made of, without CuPy."""

    in_params: str
    out_params: str
    operation: str
    name: str = "kernel"
    preamble: str = ""
    loop_prep: str = ""
    after_loop: str = ""


#: C++'s names of NumPy's types.
_TYPES = {
    "bool": "bool",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}

#: What an operation can do to a `raw` array: CuPy's `CArray`, as far as arrays are contiguous.
_RAW = """\
template <typename T> struct RacetrapRaw {
    T *data; long long count;
    __device__ T &operator[](long long i) const { return data[i]; }
    __device__ long long size() const { return count; }
};
"""


@dataclasses.dataclass(frozen=True)
class _Parameter:
    raw: bool
    kind: str
    name: str
    out: bool


def _parameters(text: Any, out: bool) -> list[_Parameter]:
    if not isinstance(text, str):
        # CuPy has read it already.
        import numpy

        kinds = [str(p.ctype) if p.dtype is None else str(numpy.dtype(p.dtype)) for p in text]
        return [_Parameter(bool(p.raw), kind, str(p.name), out) for p, kind in zip(text, kinds)]
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(raw\s+)?(\w+)\s+(\w+)", part)
        if match is None:
            raise ArgumentError(f"`{part}` is not a parameter of an ElementwiseKernel", "argument")
        found.append(_Parameter(bool(match[1]), match[2], match[3], out))
    return found


def elementwise_source(kernel: Any, types: dict[str, str]) -> str:
    """The CUDA source of an elementwise kernel: a loop over elements as CuPy writes it, with the operation on lines of its own.

    `types` has the NumPy type of each argument by its name.
    """
    parameters = _parameters(kernel.in_params, False) + _parameters(kernel.out_params, True)
    generic: dict[str, str] = {}
    for p in parameters:
        known = _TYPES.get(p.kind)
        if known is None and generic.setdefault(p.kind, types[p.name]) != types[p.name]:
            raise ArgumentError(f"`{p.name}` is {types[p.name]}, where `{p.kind}` is {generic[p.kind]} already", "argument")
        if (_TYPES.get(types[p.name])) is None:
            raise ArgumentError(f"`{p.name}` has elements of {types[p.name]}", "argument")
        if known is not None and known != _TYPES[types[p.name]]:
            raise ArgumentError(f"`{p.name}` is {types[p.name]}, where the kernel takes {p.kind}", "argument")
    # CuPy 14 keeps what is rare in a dictionary, and CuPy 12 in attributes.
    kept = getattr(kernel, "kwargs", {})
    loop_prep, after_loop = (getattr(kernel, name, None) or kept.get(name, "") for name in ("loop_prep", "after_loop"))
    names = [f"typedef {_TYPES[kind]} {letter};" for letter, kind in generic.items()]
    c = {p.name: _TYPES[types[p.name]] for p in parameters}
    declared = [f"{c[p.name]} *{p.name}_at, long long {p.name}_count" for p in parameters]
    raw = [f"    RacetrapRaw<{c[p.name]}> {p.name} = {{{p.name}_at, {p.name}_count}};" for p in parameters if p.raw]
    each = [
        f"        {c[p.name]} &{p.name} = {p.name}_at[i];" if p.out else f"        const {c[p.name]} {p.name} = {p.name}_at[{p.name}_count == 1 ? 0 : i];"
        for p in parameters
        if not p.raw
    ]
    return "\n".join(
        [
            *names,
            _RAW,
            kernel.preamble,
            f'extern "C" __global__ void {kernel.name}({", ".join(declared)}, long long n)',
            "{",
            *raw,
            f"    {loop_prep};",
            "    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {",
            *each,
            f"        {kernel.operation};",
            "    }",
            f"    {after_loop};",
            "}",
            "",
        ]
    )


def check_elementwise(kernel: Any, *args: Any, size: int | None = None, block_size: int = 128, **options: Any) -> Report:
    """Runs an elementwise kernel of CuPy on the simulator, called as CuPy calls it: `kernel(*inputs, *outputs, size=…)`.

    Args:
        kernel: A `cupy.ElementwiseKernel`, or an `Elementwise` of the same texts.
        args: Arrays of NumPy for all inputs and outputs, contiguous, and scalars for inputs. Those that are not `raw` have one shape, or one
            element. Outputs hold afterwards what the kernel wrote.
        size: The number of elements, where all arguments are `raw`.
        block_size: Threads of a block, as for CuPy's launch.
        options: As `racetrap.check` takes them.

    Raises:
        ArgumentError: Arguments do not fit the kernel.
        Error: As `racetrap.check`.
    """
    import numpy

    parameters = _parameters(kernel.in_params, False) + _parameters(kernel.out_params, True)
    if len(parameters) != len(args):
        raise ArgumentError(f"the kernel has {len(parameters)} arguments, outputs among them, and gets {len(args)}", "argument")
    # Numbers of Python's take the parameter's type, or that of the arrays with the same letter.
    letters = {p.kind: value.dtype for p, value in zip(parameters, args) if isinstance(value, numpy.ndarray)}
    types = [p.kind if p.kind in _TYPES else letters.get(p.kind) for p in parameters]
    arrays = [
        value if isinstance(value, numpy.ndarray) else numpy.atleast_1d(numpy.asarray(value, kind if isinstance(value, (bool, int, float)) else None))
        for kind, value in zip(types, args)
    ]
    shapes = {array.shape for p, array in zip(parameters, arrays) if not p.raw and (p.out or array.size != 1)}
    if len(shapes) > 1:
        raise ArgumentError(f"arguments have the shapes {', '.join(map(str, sorted(shapes)))}: pass arrays of one shape (`numpy.broadcast_arrays`)", "argument")
    if not shapes and size is None:
        raise ArgumentError("all arguments are raw: `size` says how many elements there are", "argument")
    count = int(numpy.prod(next(iter(shapes)), dtype=int)) if shapes else int(size or 0)
    source = elementwise_source(kernel, {p.name: str(array.dtype) for p, array in zip(parameters, arrays)})
    given: list[Any] = [one for array in arrays for one in (array, array.size)]
    return _check(
        source,
        str(kernel.name),
        grid=max(1, -(-count // block_size)),
        block=block_size,
        args=[*given, count],
        **{**_options(getattr(kernel, "options", None) or getattr(kernel, "kwargs", {}).get("options", ())), **options},
    )


def _outputs(kernel: Any, args: Sequence[Any]) -> list[Any]:
    """The outputs that a call of an elementwise kernel leaves out: CuPy makes them, of the inputs' shape."""
    import numpy

    inputs, outputs = _parameters(kernel.in_params, False), _parameters(kernel.out_params, True)
    if len(args) != len(inputs):
        return []
    arrays = {p.name: numpy.asarray(value) for p, value in zip(inputs, args)}
    types = {p.kind: arrays[p.name].dtype for p in inputs}
    shape = numpy.broadcast_shapes(*[arrays[p.name].shape for p in inputs if not p.raw])
    unknown = next((p for p in outputs if p.raw or not (p.kind in types or p.kind in _TYPES)), None)
    if unknown is not None:
        raise ArgumentError(f"nothing says what `{unknown.name}` is: pass it", "argument")
    return [numpy.empty(shape, types.get(p.kind, p.kind)) for p in outputs]


def watched_classes(cupy: Any, seen: Callable[[Report], object], options: Mapping[str, Any]) -> dict[str, type]:
    """CuPy's classes of kernels, by their names, with launches that are checked: they take arrays of NumPy, and `seen` gets each report."""

    class RawKernel(cupy.RawKernel):  # type: ignore[misc] # Its base is known when CuPy is there.
        def __call__(self, grid: Extent, block: Extent, args: Sequence[Any], *, shared_mem: int = 0) -> None:
            together = {"cooperative": True} if self.enable_cooperative_groups else {}
            seen(check(self, grid, block, args, shared_mem=shared_mem, **{**options, **together}))

    class RawModule(cupy.RawModule):  # type: ignore[misc]
        def get_function(self, name: str) -> RawKernel:
            if self.name_expressions:
                raise ArgumentError("kernels that are named by expressions can't be watched: instantiate them in the source", "argument")
            return RawKernel(self.code, name, self.options, enable_cooperative_groups=self.enable_cooperative_groups)

    class ElementwiseKernel(cupy.ElementwiseKernel):  # type: ignore[misc]
        def __call__(self, *args: Any, size: int | None = None, block_size: int = 128, **_: Any) -> Any:
            made = _outputs(self, args)
            seen(check_elementwise(self, *args, *made, size=size, block_size=block_size, **options))
            outputs = made or list(args[len(self.in_params) :])
            return outputs[0] if len(outputs) == 1 else tuple(outputs)

    return {"RawKernel": RawKernel, "RawModule": RawModule, "ElementwiseKernel": ElementwiseKernel}
