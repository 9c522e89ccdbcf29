"""Host code and kernels of PyTorch's extensions (`torch.utils.cpp_extension.load_inline`), without a GPU and without PyTorch.

>>> report = racetrap.torch.check_inline(cuda_source, "forward", x, weight)   # doctest: +SKIP
>>> report.results[0]                                                         # doctest: +SKIP

The source is compiled by nvcc with a small stand-in for `torch::Tensor` (`_inline/torch/extension.h`): sizes, types, pointers, new arrays,
`TORCH_CHECK`, `AT_DISPATCH_FLOATING_TYPES`. A source that uses more of PyTorch, an operator above all, does not compile, and is refused. Then
the function is called in a process of its own on the simulated device. Compiler and process are confined (Landlock): they read the system's
programs and the toolkit, write in one temporary folder and open no connection by TCP. Not prevented: signals to processes of the same user, and
changed permissions of that user's files. The report is written within the confined folder, so host code that is made to could write another.
"""

from __future__ import annotations

import math
import os
import stat
import struct
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _native
from ._check import _compiler_of_wheels
from ._errors import ArgumentError, CompileError, Error, raise_error
from ._report import Report

_HERE = Path(__file__).parent

#: As `c10::ScalarType` of the stand-in numbers them; NumPy has no `bfloat16`.
_TYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool")
#: What the compiler and the program read.
_READ = ("/usr", "/bin", "/lib", "/lib64", "/lib32", "/libx32", "/etc/ld.so.cache", "/etc/alternatives", "/proc", "/sys/devices/system/cpu", "/dev/urandom")
#: For the compiler, which is no part of what is measured: a machine that does much else takes long.
_BUILD_SECONDS = 900.0


class InlineReport(Report):
    """What was seen of the function's launches, and what it gave."""

    def __init__(self, shown: _FromFiles, output: str) -> None:
        super().__init__(shown)
        #: The tensors that the function returned, as arrays of NumPy.
        self.results: tuple[Any, ...] = ()
        #: As the function returned them: one array, or a list of them; `None` where it returned nothing, or did not come to its end.
        self.returned: Any = None
        #: What the program printed.
        self.output: str = output

    def _set(self, results: tuple[Any, ...], alone: bool) -> None:
        """What the function returned, where it came to its end: one tensor alone, or several."""
        self.results = results
        self.returned = results[0] if alone else list(results) or None


#: Of what a program leaves, at most.
_RESULTS, _REPORT, _TENSORS = 2 << 30, 256 << 20, 1000


def _left(file: Path, most: int) -> bytes:
    """What a program that nobody trusts has left in a file: it may have made a link of it, a pipe, or a file of a terabyte. Nothing where there
    is none.

    Raises:
        Error: It is no regular file, or a larger one.
    """
    try:
        number = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise Error(f"the program's {file.name} can't be read: {error.strerror}", "other") from error
    with open(number, "rb") as opened:
        about = os.fstat(number)
        if not stat.S_ISREG(about.st_mode) or about.st_size > most:
            raise Error(f"the program's {file.name} is no file, or one of more than {most >> 20} MiB", "memory")
        return opened.read(most)


class _FromFiles:
    """A report that `racetrap exec` has written."""

    def __init__(self, folder: Path) -> None:
        self._formats = {name: _left(folder / f"report.{name}", _REPORT).decode(errors="replace") for name in ("json", "html", "sarif", "text")}

    def render(self, format: str) -> str:
        return self._formats["text" if format == "terminal" else format]


def _packed(value: Any, position: int) -> bytes:
    import numpy

    if value is None:
        return b"n"
    if isinstance(value, (bool, int)):
        return struct.pack("<cq", b"i", int(value))
    if isinstance(value, float):
        return struct.pack("<cd", b"f", value)
    if isinstance(value, (tuple, list)) and all(isinstance(one, int) for one in value):
        return struct.pack(f"<ci{len(value)}q", b"l", len(value), *value)
    contiguous, detach = getattr(value, "is_contiguous", None), getattr(value, "detach", None)
    if contiguous is not None and not contiguous():
        raise ArgumentError(f"argument {position} is not contiguous in memory", "argument")
    try:
        array = numpy.asarray(detach().numpy() if detach else value, order="C")
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError(f"argument {position} is neither a number nor an array in the host's memory: {error}", "argument") from error
    if str(array.dtype) not in _TYPES:
        raise ArgumentError(f"argument {position} has elements of {array.dtype}", "argument")
    return b"t" + struct.pack(f"<ii{array.ndim}q", _TYPES.index(str(array.dtype)), array.ndim, *array.shape) + array.tobytes()


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, format: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + format, self.data, self.at)
        self.at += struct.calcsize("<" + format)
        return values

    def array(self) -> Any:
        import numpy

        kind, dimensions = self.take("ii")
        if not (0 <= kind < len(_TYPES) and 0 <= dimensions <= 64):
            raise Error("the program's results can't be read", "other")
        shape = self.take(f"{dimensions}q")
        count = math.prod(shape)
        if any(size < 0 for size in shape) or count * numpy.dtype(_TYPES[kind]).itemsize > len(self.data) - self.at:
            raise struct.error("sizes that the data does not have")
        array = numpy.frombuffer(self.data, _TYPES[kind], count, self.at).reshape(shape).copy()
        self.at += array.nbytes
        return array


class Extension:
    """The sources of an extension, compiled once for each of their functions that is called.

    Used as a context manager, or until it is collected: its programs lie in a temporary folder.

    Args:
        cuda_source: As `load_inline` takes `cuda_sources`; one text or several.
        cpp_sources: As `load_inline` takes them: declarations; they come first.
        defines: Macros.
        device: As `racetrap.run` takes it.
    """

    def __init__(
        self,
        cuda_source: str | Sequence[str],
        *,
        cpp_sources: str | Sequence[str] = (),
        defines: Mapping[str, object] | Sequence[str] = (),
        device: str = "sm_80",
    ) -> None:
        _compiler_of_wheels()
        self._command = _HERE / "_bin/racetrap"
        if not self._command.is_file():
            raise Error("this build of the package does not carry the program: install the wheel", "input")
        try:
            self._toolkit = os.fspath(_native.compiler())
        except _native.Failure as failure:
            kind, message = failure.args
            raise_error(kind, message)
        named = dict(defines) if isinstance(defines, Mapping) else {name: value for name, _, value in (one.partition("=") for one in defines)}
        self._macros = [f"#define {name} {'' if value is None else value}" for name, value in named.items()]
        if any("\n" in macro for macro in self._macros):
            raise ArgumentError("a macro has several lines", "argument")
        texts = [*([cpp_sources] if isinstance(cpp_sources, str) else cpp_sources), *([cuda_source] if isinstance(cuda_source, str) else cuda_source)]
        self._text = "\n".join(texts) + "\n"
        self._device = device
        self._kept = tempfile.TemporaryDirectory(prefix="racetrap-")
        self._built: dict[tuple[str, int], Path] = {}

    def __enter__(self) -> Extension:
        return self

    def __exit__(self, *_: object) -> None:
        self._kept.cleanup()

    def _confined(self, words: Sequence[str], folder: Path, seconds: float, read: Sequence[str | Path] = ()) -> tuple[int | None, str, str]:
        status, out, said, _, too_large = _native.confined(
            self._command,
            list(words),
            folder,
            read=[*_READ, _HERE, self._toolkit, *read],
            environment=("/usr/local/bin:/usr/bin:/bin", self._toolkit),
            seconds=seconds,
        )
        if too_large:
            raise Error("it took more than 8 GiB of memory, wrote more than that, or started more than 256 processes", "memory")
        return status, out, said

    def build(self, function: str, arguments: int) -> Path:
        """The program that calls a function with so many arguments.

        Raises:
            CompileError: The compiler refuses the sources, or they use what the stand-in does not have.
            ArgumentError: That is not the name of a function.
        """
        if not function.replace("::", "").isidentifier():
            raise ArgumentError(f"`{function}` is not the name of a function", "argument")
        known = self._built.get((function, arguments))
        if known is not None:
            return known
        folder = Path(self._kept.name).resolve() / f"build-{len(self._built)}"
        folder.mkdir(exist_ok=True)
        values = ", ".join(f"values[{index}]" for index in range(arguments))
        # Findings name this file, and its lines are those of the sources.
        (folder / "inline.cu").write_text(self._text)
        (folder / "call.cu").write_text(
            "\n".join(self._macros) + '\n#include "racetrap_call.h"\n#include "inline.cu"\n'
            "int main()\n{\n"
            '    racetrap::File in("arguments", "rb"), out("results", "wb");\n'
            "    at::racetrap_poison() = in.get<int32_t>();\n"
            f"    std::vector<racetrap::Value> values;\n    for (int i = 0; i < {arguments}; i++) values.emplace_back(in);\n"
            f"    return racetrap::run(out, values, [&] {{ return {function}({values}); }});\n}}\n"
        )
        # As `torch.utils.cpp_extension` calls nvcc (`COMMON_NVCC_FLAGS`), as far as that matters here.
        flags = ["-std=c++17", "--expt-relaxed-constexpr", "-w"]
        words = ["build", "--device", self._device, "--", "nvcc", *flags, "-I", str(_HERE / "_inline"), "-I", str(folder), "-o", "program", "call.cu"]
        status, out, said = self._confined(words, folder, _BUILD_SECONDS)
        program = folder / "program"
        if status is None:
            raise Error(f"the compiler did not end within {_BUILD_SECONDS:g} seconds", "time")
        if status != 0 or not program.is_file():
            raise CompileError((said + out).strip() or f"nvcc ends with status {status}", "refused")
        self._built[function, arguments] = program
        return program

    def call(self, function: str, *tensors: Any, schedules: int = 8, timeout: float = 600.0, poison: int | None = None) -> InlineReport:
        """Calls a function, and watches what it launches. See `check_inline`; `poison` is the byte that new tensors are filled with."""
        import numpy

        packed = [_packed(value, position) for position, value in enumerate(tensors)]
        program = self.build(function, len(packed))
        with tempfile.TemporaryDirectory(prefix="racetrap-") as name:
            folder = Path(name).resolve()
            (folder / "arguments").write_bytes(struct.pack("<i", -1 if poison is None else poison) + b"".join(packed))
            words = ["exec", "--schedules", str(schedules), "--device", self._device, "--format", "json", "--report", "report.json"]
            words += [word for format in ("html", "sarif", "text") for word in ("--also", f"{format}=report.{format}")]
            status, out, said = self._confined([*words, "--", str(program)], folder, timeout, [program.parent])
            if not (folder / "report.json").is_file():
                if status is None:
                    raise Error(f"it did not end within {timeout:g} seconds", "time")
                raise Error(said.strip() or f"racetrap exec ends with status {status}", "other")
            try:
                report = InlineReport(_FromFiles(folder), out)
            except Error:
                raise
            except Exception as error:
                # `racetrap exec` writes no such report.
                raise Error("the report on the program can't be read: its host code has changed it", "other") from error
            reader = _Reader(_left(folder / "results", _RESULTS))
        try:
            count = reader.take("i")[0]
            if abs(count) > _TENSORS:
                raise Error(f"the function returns more than {_TENSORS} tensors", "memory")
            results = tuple(reader.array() for _ in range(abs(count)))
            for value in tensors:
                if value is None or isinstance(value, (bool, int, float, tuple, list)):
                    continue
                left = reader.array()
                held = value.detach().numpy() if hasattr(value, "detach") else value
                if isinstance(held, numpy.ndarray) and (held.shape, held.dtype) != (left.shape, left.dtype):
                    raise Error("the program's results can't be read: its host code has changed them", "other")
                if isinstance(held, numpy.ndarray) and held.flags.writeable:
                    held[...] = left
            report._set(results, count == -1)
        except struct.error:
            # It ended before: by an exception, whose text is what it has written, or because its memory is wrong.
            if report.verdict != "findings":
                raise Error(said.strip() or report.summary, "other") from None
        return report


def check_inline(
    cuda_source: str | Sequence[str],
    function: str,
    *tensors: Any,
    cpp_sources: str | Sequence[str] = (),
    defines: Mapping[str, object] | Sequence[str] = (),
    schedules: int = 8,
    device: str = "sm_80",
    timeout: float = 600.0,
) -> InlineReport:
    """Compiles the sources of an extension, calls a function of theirs, and watches what it launches.

    Args:
        cuda_source: As `load_inline` takes `cuda_sources`; one text or several.
        function: The host function to call, by its name.
        tensors: What it is called with: arrays of NumPy or PyTorch's tensors on the CPU, which are contiguous and of a type that NumPy has,
            numbers, lists of whole numbers, and `None`. They become tensors on the device, and hold afterwards what the function left in them.
        cpp_sources: As `load_inline` takes them: declarations; they come first.
        defines: Macros.
        schedules, device: As `racetrap.run` takes them.
        timeout: Seconds for the run. Compiling has a limit of its own.

    Returns:
        The report, whose `results` are the function's.

    Raises:
        CompileError: The compiler refuses the sources, or they use what the stand-in does not have.
        NoCompilerError: There is no compiler.
        ArgumentError: A tensor can't be passed.
        Error: The function throws, or the time is up.

    To call several functions, or one several times, an `Extension` compiles once.
    """
    with Extension(cuda_source, cpp_sources=cpp_sources, defines=defines, device=device) as extension:
        return extension.call(function, *tensors, schedules=schedules, timeout=timeout)
