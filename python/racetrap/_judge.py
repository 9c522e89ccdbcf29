"""`racetrap.judge`: a kernel that somebody, or something, has written, against a reference.

Each size is one run of `racetrap.check` on drawn inputs. Outputs come poisoned, so that what a kernel leaves unwritten shows; inputs are
compared with what they were; and the reference's results are never in memory that the kernel can reach. Where the values may depend on the
order of threads, further schedules are run alone, and each must give the reference's results.

A candidate is a kernel, which is compiled in racetrap's sandbox and runs on the simulator: none of its host code is run. Or, with `function`,
it is the source of an extension (`load_inline`): its host code runs in a process of its own, which is confined (`racetrap.torch`), and never
here. The reference, which also says how kernels are launched, is the judge's own and runs here.

Not seen: work that a candidate leaves out beyond the largest size that is tried; differences within the tolerance; kernels that find out
which inputs they are judged by (draw others: `seed`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import random
import resource
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._check import _is_ptx, check
from ._errors import CompileError, Error
from ._report import Report

if TYPE_CHECKING:
    from .torch import Extension

_KINDS = {
    "divergent-barrier": "barrier",
    "barrier-after-exit": "barrier",
    "invalid-barrier": "barrier",
    "mbarrier-misuse": "barrier",
    "warp-sync-mask": "barrier",
    "deadlock": "barrier",
    "no-progress": "barrier",
    "out-of-bounds": "memory",
    "misaligned-access": "memory",
    "use-after-free": "memory",
    "uninitialized-read": "memory",
    "undefined-shuffle": "memory",
    "cluster-memory": "memory",
    "assertion-failed": "wrong",
    "trap": "wrong",
    "invalid-call": "wrong",
    "invalid-api-use": "wrong",
    "nondeterministic-result": "wrong",
    # What is left is about order.
    "data-race": "race",
    "insufficient-scope": "race",
    "non-coherent-read": "race",
    "async-copy-hazard": "race",
    "missing-proxy-fence": "race",
    "missing-dependency-wait": "race",
    "lockstep-assumption": "race",
    "unordered-communication": "race",
    "same-value-write": "race",
}

#: Orders of threads that are tried alone where values may depend on the order.
_ORDERS = ("random:1", "random:2")
#: What outputs are filled with, by turns: no value is both.
_POISONS = (0xFF, 0xA5)


def _nothing(size: int) -> Mapping[str, Any]:
    return {}


def draw_sizes(seed: int = 1) -> tuple[int, ...]:
    """Sizes to judge by: one element, less than a warp, a whole block and one more, many blocks, odd ones, and one that nobody can know."""
    draw = random.Random(seed)
    return (1, 31, 256, 257, 2 * draw.randrange(300, 900) + 1, 4096, draw.randrange(4097, 9000))


@dataclasses.dataclass(frozen=True)
class Try:
    """One size."""

    size: int
    #: As `Judgement.verdict`.
    verdict: str
    #: What was wrong, in a sentence; the report's summary where nothing was.
    why: str
    #: What the simulator said; `None` where the kernel was not run.
    report: Report | None
    #: The schedules that ran, those among them that were compared with the reference alone.
    schedules: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class Judgement:
    """What came of a candidate.

    `verdict` is the worst of all sizes: `refused` (by the compiler), `race`, `barrier`, `memory`, `wrong`, `unsupported`, `inconclusive`,
    `not_run`, or `clean`, which holds for the sizes and schedules in `tries` and for nothing else: `coverage` says which.
    """

    verdict: str
    tries: tuple[Try, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing was wrong for the sizes that were tried, and all were."""
        return self.verdict == "clean"

    @property
    def coverage(self) -> str:
        """What the verdict rests on."""
        runs = [one for one in self.tries if one.report is not None and one.verdict != "refused"]
        left = [str(one.size) for one in self.tries if one not in runs]
        text = f"sizes {', '.join(str(one.size) for one in runs) or 'none'}"
        schedules = sum(len(one.schedules) for one in runs)
        # Host code chooses its launches itself: what was tried of them is in each report's summary.
        text += f"; {schedules} schedules in all" if schedules or not runs else ""
        sure = sum(one.report is not None and one.report.schedule_independent for one in runs)
        text += f"; at {sure} of {len(runs)} sizes the result holds for every schedule" if runs and schedules else ""
        return text + (f"; not run: {', '.join(left)}" if left else "")

    def to_json(self) -> str:
        """The judgement for programs: `verdict`, `coverage`, and for each size `size`, `verdict`, `why`, `schedules`, `seconds` and the
        `findings` as `racetrap check --format json` has them."""
        tries = []
        for one in self.tries:
            findings = json.loads(one.report.to_json())["checks"][0]["findings"] if one.report else []
            tries.append(
                {
                    "size": one.size,
                    "verdict": one.verdict,
                    "why": one.why,
                    "schedules": list(one.schedules),
                    "seconds": round(one.seconds, 3),
                    "findings": findings,
                }
            )
        return json.dumps({"version": 1, "verdict": self.verdict, "coverage": self.coverage, "tries": tries}, indent=2)

    def __str__(self) -> str:
        lines = [f"{self.verdict}: {self.coverage}"]
        lines += [f"  size {one.size}: {one.verdict}: {one.why}" for one in self.tries]
        return "\n".join(lines)


_ORDER = ("refused", "race", "barrier", "memory", "wrong", "unsupported", "inconclusive", "not_run", "clean")


def _poison(array: Any, byte: int) -> None:
    array.view("u1").reshape(-1)[:] = byte


def _compare(output: Any, wanted: Any, tolerance: float, poison: int) -> str | None:
    import numpy

    wanted = numpy.asarray(wanted)
    if output.shape != wanted.shape:
        return f"the reference gives the shape {wanted.shape}, the output has {output.shape}"
    same = numpy.isclose(output, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
    if same.all():
        return None
    at = tuple(int(i) for i in numpy.argwhere(~same)[0])
    rest = int((~same).sum())
    never = " (never written)" if set(output[at].tobytes()) == {poison} else ""
    return f"{rest} of {output.size} elements are wrong, the first at {list(at)}: {output[at]}{never} instead of {wanted[at]}"


def _generator(seed: int, size: int) -> Any:
    import numpy

    return numpy.random.default_rng((seed, size))


@dataclasses.dataclass(frozen=True)
class _Trial:
    """A candidate and what it is judged by."""

    candidate: str | os.PathLike[str]
    reference: Callable[..., Any]
    inputs: Callable[[int, Any], Sequence[Any]]
    launch: Callable[[int], Mapping[str, Any]]
    outputs: Sequence[int]
    tolerance: float
    seed: int
    options: Mapping[str, Any]
    function: str | None = None
    extension: Extension | None = None

    def one(self, size: int, poison: int, timeout: float) -> Try:
        """Judges by one size."""
        report, wrong = self._run(size, poison, timeout=timeout)
        schedules = report.schedules
        if report.verdict == "findings":
            # A rule that is not known here is never taken for less than it may be.
            kinds = [(_KINDS.get(f.rule, "race"), f.message) for f in report.findings if f.level != "note"]
            kind, message = min(kinds or [("inconclusive", report.summary)], key=lambda one: _ORDER.index(one[0]))
            return Try(size, kind, message, report, schedules)
        if report.verdict != "clean":
            return Try(size, report.verdict, report.summary, report, schedules)
        if wrong is None and self.function is None and not report.schedule_independent:
            for order in _ORDERS:
                _, wrong = self._run(size, poison, timeout=timeout, schedule=order)
                schedules = (*schedules, order)
                if wrong is not None:
                    wrong = f"the result depends on the order of threads: under `{order}` {wrong}"
                    break
        return Try(size, "wrong" if wrong else "clean", wrong or report.summary, report, schedules)

    def _run(self, size: int, poison: int, **options: Any) -> tuple[Report, str | None]:
        """Runs it on fresh inputs; what is wrong with its results, where it came to its end."""
        import numpy

        args = list(self.inputs(size, _generator(self.seed, size)))
        before = [value.copy() if isinstance(value, numpy.ndarray) else value for value in args]
        # The reference gets copies, too, so its results lie in no memory that the kernel is given.
        wanted = self.reference(*[value.copy() if isinstance(value, numpy.ndarray) else value for value in args])
        wanted = wanted if isinstance(wanted, (tuple, list)) else (wanted,)
        if self.function is None and len(wanted) != len(self.outputs):
            raise ValueError(f"the reference gives {len(wanted)} results, for {len(self.outputs)} outputs")
        if self.extension is not None:
            return self._inline(self.extension, args, before, wanted, poison, **options)
        for index in self.outputs:
            _poison(args[index], poison)
        report = check(self.candidate, args=args, seed=self.seed, **{**dict(self.launch(size)), **options, **self.options})
        for index, result in zip(self.outputs, wanted):
            difference = _compare(args[index], result, self.tolerance, poison)
            if difference is not None:
                return report, difference
        return report, _changed(args, before, self.outputs)


    def _inline(
        self, extension: Extension, args: list[Any], before: list[Any], wanted: Sequence[Any], poison: int, timeout: float
    ) -> tuple[Report, str | None]:
        report = extension.call(str(self.function), *args, timeout=timeout, poison=poison, schedules=self.options.get("schedules", 8))
        if len(report.results) != len(wanted):
            return report, f"the function gives {len(report.results)} results, the reference {len(wanted)}"
        for output, result in zip(report.results, wanted):
            difference = _compare(output, result, self.tolerance, poison)
            if difference is not None:
                return report, difference
        return report, _changed(args, before)


def _changed(args: Sequence[Any], before: Sequence[Any], outputs: Sequence[int] = ()) -> str | None:
    """Which input was changed."""
    import numpy

    for index, (value, old) in enumerate(zip(args, before)):
        if index not in outputs and isinstance(value, numpy.ndarray) and value.tobytes() != old.tobytes():
            return f"argument {index}, an input, was changed"
    return None


def _spent(host: bool) -> float:
    """Processor time so far, in seconds: of this process, in which kernels run, or of its children, in which host code does."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN if host else resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


#: A size that takes so many times its budget by the clock is given up: it sleeps, or the machine is hopelessly slow.
_PATIENCE = 10


def judge(
    candidate: str | os.PathLike[str],
    reference: Callable[..., Any],
    inputs: Callable[[int, Any], Sequence[Any]],
    launch: Callable[[int], Mapping[str, Any]] | None = None,
    outputs: Sequence[int] = (0,),
    *,
    function: str | None = None,
    sizes: Sequence[int] | None = None,
    tolerance: float = 1e-3,
    seed: int = 1,
    budget: float = 60.0,
    **options: Any,
) -> Judgement:
    """Judges a kernel by its results, races, barriers and accesses to memory, for several sizes.

    Args:
        candidate: CUDA source or PTX, as `racetrap.check` takes it. It is compiled once.
        reference: Called with the arguments as the kernel gets them; gives the array that each output must hold, one or a tuple.
        inputs: The arguments for a size: called with the size and a generator of `numpy.random`.
        launch: How a size is launched: `lambda n: {"grid": (n + 255) // 256, "block": 256}`; `kernel` may be among it.
        outputs: Which arguments the kernel writes; they come filled with bytes of 0xFF or 0xA5.
        function: The candidate is the source of an extension for PyTorch, and this is the host function that is called with `inputs`. It
            launches its kernels itself, so `launch` and `outputs` are left out; the reference gives what it must return. `options` are then
            those of `racetrap.torch.check_inline`.
        sizes: In this order; drawn from the seed if left out (`1, 31, 256, 257`, odd ones, many blocks, one beyond them).
        tolerance: Absolute and relative.
        budget: Seconds of processor time for all sizes, without the compiler's; sizes that are left then are `not_run`, and the verdict is
            not `clean`. What else a machine does makes no difference, but that a size that takes ten times its budget by the clock is given up.
        options: As `racetrap.check` takes them.

    Raises:
        ValueError: The reference gives another number of results.
    """
    if launch is None and function is None:
        raise TypeError("`launch` says how the kernel is launched")
    tries: list[Try] = []
    with tempfile.TemporaryDirectory(prefix="racetrap-") as folder, contextlib.ExitStack() as stack:
        if isinstance(candidate, str) and "\n" in candidate:
            # Under one name, so that it is compiled once.
            file = Path(folder, "candidate.ptx" if _is_ptx(candidate) else "candidate.cu")
            file.write_text(candidate)
            candidate = file
        extension = None
        if function is not None:
            from .torch import Extension

            names = {name: value for name, value in options.items() if name != "schedules"}
            extension = stack.enter_context(Extension(Path(candidate).read_text(), **names))
        trial = _Trial(candidate, reference, inputs, launch or _nothing, outputs, tolerance, seed, options, function, extension)
        left = budget
        for index, size in enumerate(draw_sizes(seed) if sizes is None else sizes):
            if left <= 0:
                tries.append(Try(size, "not_run", "the time was over", None))
                continue
            started, spent = time.monotonic(), _spent(function is not None)
            try:
                if extension is not None:
                    extension.build(str(function), len(inputs(size, _generator(seed, size))))
                # The compiler's time does not count.
                started, spent = time.monotonic(), _spent(function is not None)
                one = trial.one(size, _POISONS[index % len(_POISONS)], _PATIENCE * left)
            except CompileError as error:
                tries.append(Try(size, "refused", str(error), error.report))
                break
            except Error as error:
                one = Try(size, "not_run", str(error), None)
            left -= _spent(function is not None) - spent
            tries.append(dataclasses.replace(one, seconds=time.monotonic() - started))
    verdicts = {one.verdict for one in tries} or {"not_run"}
    return Judgement(next(v for v in _ORDER if v in verdicts), tuple(tries))
