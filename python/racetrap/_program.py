"""Whole programs: `racetrap.run`, which starts one, and `racetrap.watch`, which watches this one."""

from __future__ import annotations

import ctypes
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import _native
from ._errors import Error
from ._report import Report

_BIN = Path(__file__).parent / "_bin"


def _library() -> Path:
    """The library that stands in for the driver and the runtime; it has to be a file of the wheel."""
    library = _BIN / "libracetrap_cuda.so"
    if not library.is_file():
        raise Error("this build of the package does not carry the library for whole programs: install the wheel", "input")
    return library


def _capability(device: str) -> int:
    digits = device.removeprefix("sm_")
    if digits not in ("75", "80", "86", "87", "89", "90"):
        raise ValueError(f"`{device}` is not a GPU that can be simulated: sm_75, sm_80, sm_86, sm_89 or sm_90")
    return int(digits)


class ProgramReport(Report):
    """What was seen of a program. `status` is its exit status, `result` what the function returned."""

    status: int
    result: Any

    def __init__(self, shown: _native.Watched, status: int, result: Any = None) -> None:
        super().__init__(shown)
        self.status = status
        self.result = result


def _main_file(function: Callable[..., Any]) -> str | None:
    """The script that defines the function, where it is the one that was started."""
    if function.__module__ != "__main__":
        return None
    path = getattr(sys.modules["__main__"], "__file__", None)
    if path is None:
        raise TypeError("a function of a notebook or a prompt can't be run in another process: use `racetrap.watch()`, or put it into a module")
    return os.path.abspath(str(path))


def run(
    program: str | os.PathLike[str] | Callable[..., Any],
    *args: Any,
    device: str = "sm_80",
    schedules: int = 8,
    first: int = 3,
    kernels: Sequence[str] = (),
    timeout: float | None = None,
    **keywords: Any,
) -> ProgramReport:
    """Runs a Python program in a process of its own, in which kernels run on the simulated device: those of Numba, of Triton, of CuPy 12 and
    of everything else that asks for CUDA's libraries by their names. What it prints appears as usual.

    Args:
        program: A script, or a function of a module or of the running script. The script is started by this interpreter. A function and its
            arguments are pickled; the running script is run again for it, as `multiprocessing` does, so it needs `if __name__ == "__main__"`.
        args: The script's arguments, or the function's.
        device: The GPU that is simulated: `"sm_75"`, `"sm_80"`, `"sm_90"`.
        schedules: How many schedules a watched launch is tried under.
        first: How many launches of each kernel and geometry are watched before the others; later ones are watched now and then.
        kernels: Names or patterns of the kernels to watch; all if there are none.
        timeout: Seconds.
        keywords: Further arguments of the function.

    Returns:
        The report, with the program's exit status and the function's result.

    Raises:
        Error: The program can't be started.
        Exception: What the function raises.
        KeyboardInterrupt: At once; the program is stopped.
    """
    library = _library()
    capability = _capability(device)
    with tempfile.TemporaryDirectory(prefix="racetrap-") as folder:
        answer = Path(folder, "answer")
        if callable(program):
            call = Path(folder, "call")
            call.write_bytes(pickle.dumps((list(sys.path), _main_file(program))) + pickle.dumps((program, args, keywords)))
            command = [sys.executable, "-m", "racetrap._child", str(call), str(answer)]
            name = getattr(program, "__qualname__", repr(program))
        else:
            name = os.fspath(program)
            if not Path(name).is_file():
                raise Error(f"there is no script `{name}`", "input")
            if keywords:
                raise TypeError(f"`{next(iter(keywords))}`: a script takes its arguments by position")
            command = [sys.executable, name, *map(str, args)]
        status, watched = _native.run(
            command,
            library,
            folder,
            name=name,
            first=first,
            schedules=schedules,
            capability=capability,
            kernels=list(kernels),
            timeout=timeout,
        )
        result = None
        if callable(program) and answer.is_file():
            failed, result = pickle.loads(answer.read_bytes())
            if failed:
                raise result
        return ProgramReport(watched, status, result)


class _Inside:
    """The library in this process: loaded once, and never unloaded."""

    one: _Inside | None = None

    def __init__(self, first: int, schedules: int, device: str) -> None:
        _refuse_other_drivers()
        library = _library()
        # Not removed before the process has ended: the library writes to it until then.
        self.folder = Path(tempfile.mkdtemp(prefix="racetrap-"))
        variables, load = _native.watch(library, self.folder, first=first, schedules=schedules, capability=_capability(device))
        os.environ.update((name, os.fspath(value)) for name, value in variables)
        self._loaded = [ctypes.CDLL(os.fspath(file), mode=ctypes.RTLD_GLOBAL) for file in load]
        self.options = (first, schedules, device)
        self.busy = False

    def tell(self) -> int:
        """Waits for the device, and lets the library write down what it knows; how long the records are then."""
        records = self.folder / "records.jsonl"
        library = self._loaded[0]
        if records.is_file():
            library.cuCtxSynchronize()
        library.racetrap_tell()
        return records.stat().st_size if records.is_file() else 0


def _refuse_other_drivers() -> None:
    """A driver that is loaded already is the one that everything calls."""
    if "RACETRAP_EXEC" in os.environ:
        raise Error("this program runs under `racetrap exec`, which watches all of it", "input")
    with open("/proc/self/maps") as lines:
        files = {line.split(maxsplit=5)[5].strip() for line in lines if line.count("/")}
    for file in sorted(files):
        name = os.path.basename(file)
        # The runtime (`libcudart`), which PyTorch brings, does without the driver until its first call: from then on it has this library's.
        if name.startswith(("libcuda.so", "libnvcuda")):
            raise Error(
                f"`{file}` was loaded before, so launches go there: watch before anything uses the GPU, or run the whole program by "
                "`racetrap exec -- python …`",
                "input",
            )


class WatchReport(Report):
    """What was seen in a block; known when the block has ended."""

    def __init__(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Error("the report is there when the block `with racetrap.watch()` has ended", "input")

    def __repr__(self) -> str:
        return super().__repr__() if "_shown" in self.__dict__ else "<racetrap.Report of a block that has not ended>"


@contextmanager
def _launches_of_triton(reports: list[Report], device: str, schedules: int) -> Iterator[frozenset[str]]:
    """Triton asks PyTorch for its device and its memory, and does without neither. So its launches go to `racetrap.triton.check`, which
    takes arrays in the host's memory."""
    from .triton import BY_DESIGN, check

    jit = sys.modules.get("triton.runtime.jit")
    if jit is None:
        yield BY_DESIGN
        return
    original = jit.JITFunction.run

    def run(self: Any, *args: Any, grid: Any, warmup: bool = False, **options: Any) -> None:
        if not warmup:
            told = {"schedules": schedules}
            reports.append(check(self, grid, *args, capability=_capability(device), check_options=told, **options))

    jit.JITFunction.run = run
    try:
        yield BY_DESIGN
    finally:
        jit.JITFunction.run = original


@contextmanager
def _launches_of_cupy(reports: list[Report], device: str, schedules: int) -> Iterator[None]:
    """CuPy from version 13 on contains the CUDA runtime, which asks the driver for functions that are not documented. So kernels that are made
    in the block are of classes that give their launches to `racetrap.cupy`, which takes arrays in the host's memory."""
    cupy = sys.modules.get("cupy")
    if cupy is None:
        yield
        return
    from .cupy import watched_classes

    classes = watched_classes(cupy, reports.append, {"schedules": schedules, "arch": device})
    originals = {name: getattr(cupy, name) for name in classes}
    for name, watched in classes.items():
        setattr(cupy, name, watched)
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(cupy, name, original)


@contextmanager
def watch(*, device: str = "sm_80", schedules: int = 8, first: int = 3) -> Iterator[WatchReport]:
    """Watches what the block launches: the kernels of Numba, and of all that asks for CUDA's driver by its name, run on the simulated device
    in this process. Kernels of Triton take arrays in the host's memory within the block (NumPy's, or PyTorch's on the CPU): Triton itself
    launches nothing without PyTorch on a GPU. So do kernels of CuPy (`RawKernel`, `RawModule`, `ElementwiseKernel`) that are made within the
    block: CuPy contains the CUDA runtime, and has no arrays of its own without a GPU. Import Triton and CuPy before the first block, and Numba
    within it: Numba looks for the driver early.

    >>> with racetrap.watch() as report:    # doctest: +SKIP
    ...     kernel[grid, block](array)
    >>> report.raise_for_findings()         # doctest: +SKIP

    The device stays in the process: kernels that are launched after the block run on it, too. So all blocks of a process have the
    options of the first one. Memory that is never freed is not reported, since it may be freed later.

    Args:
        device, schedules, first: As `racetrap.run` takes them.

    Raises:
        Error: NVIDIA's driver was loaded before: then `racetrap exec -- python …` runs the program.
    """
    inside = _Inside.one
    if inside is None:
        inside = _Inside.one = _Inside(first, schedules, device)
    if inside.busy:
        raise Error("blocks of `racetrap.watch()` can't be nested", "input")
    if inside.options != (first, schedules, device):
        raise Error(f"the first block of this process has the options first={inside.options[0]}, schedules={inside.options[1]}, device={inside.options[2]!r}", "input")
    report = WatchReport()
    launched: list[Report] = []
    by_design: frozenset[str] = frozenset()
    inside.busy = True
    start = 0
    try:
        start = inside.tell()
        with _launches_of_triton(launched, device, schedules) as by_design, _launches_of_cupy(launched, device, schedules):
            yield report
    finally:
        inside.busy = False
        inside.tell()
        report._fill(_native.watched(inside.folder, start, "the block", [r._shown for r in launched if isinstance(r._shown, _native.Checked)]), by_design, len(launched))
