"""`racetrap.judge`: a kernel that somebody, or something, has written, against a reference.

Each size is one run of `racetrap.check` on drawn inputs. Outputs come poisoned, so that what a kernel leaves unwritten shows; inputs are
compared with what they were. The host code is the caller's (`launch`): a candidate is a kernel, and runs on the simulator alone.

Not seen: work that a candidate leaves out beyond the largest size that is tried; differences within the tolerance.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._check import check
from ._errors import CompileError, Error
from ._report import Report

_KINDS = {
    "divergent-barrier": "barrier",
    "barrier-after-exit": "barrier",
    "invalid-barrier": "barrier",
    "warp-sync-mask": "barrier",
    "deadlock": "barrier",
    "no-progress": "barrier",
    "out-of-bounds": "memory",
    "misaligned-access": "memory",
    "use-after-free": "memory",
    "uninitialized-read": "memory",
    "undefined-shuffle": "memory",
}

#: One block and several, whole warps and not, powers of two and odd.
SIZES = (1, 31, 64, 257, 1000, 4096)


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


@dataclasses.dataclass(frozen=True)
class Judgement:
    """What came of a candidate.

    `verdict` is the worst of all sizes: `refused` (by the compiler), `race`, `barrier`, `memory`, `wrong`, `unsupported`, `inconclusive`,
    `not_run`, or `clean`, which holds for the sizes and schedules in `tries`.
    """

    verdict: str
    tries: tuple[Try, ...]

    @property
    def coverage(self) -> str:
        """What the verdict rests on."""
        runs = [one for one in self.tries if one.report is not None]
        schedules = sum(len(one.report.schedules) for one in runs if one.report is not None)
        sizes = ", ".join(str(one.size) for one in runs)
        return f"sizes {sizes or 'none'}; {schedules} schedules in all"

    def __str__(self) -> str:
        lines = [f"{self.verdict}: {self.coverage}"]
        lines += [f"  size {one.size}: {one.verdict}: {one.why}" for one in self.tries]
        return "\n".join(lines)


_ORDER = ("refused", "race", "barrier", "memory", "wrong", "unsupported", "inconclusive", "not_run", "clean")


def _poison(array: Any) -> None:
    array.view("u1").reshape(-1)[:] = 0xFF


def _compare(output: Any, wanted: Any, tolerance: float) -> str | None:
    import numpy

    wanted = numpy.asarray(wanted)
    if output.shape != wanted.shape:
        return f"the reference gives the shape {wanted.shape}, the output has {output.shape}"
    same = numpy.isclose(output, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
    if same.all():
        return None
    at = tuple(int(i) for i in numpy.argwhere(~same)[0])
    rest = int((~same).sum())
    bits = numpy.ascontiguousarray(output[at]).view("u1")
    never = " (never written)" if (bits == 0xFF).all() else ""
    return f"{rest} of {output.size} elements are wrong, the first at {list(at)}: {output[at]}{never} instead of {wanted[at]}"


def _one(
    candidate: str | os.PathLike[str],
    reference: Callable[..., Any],
    inputs: Callable[[int, Any], Sequence[Any]],
    launch: Callable[[int], Mapping[str, Any]],
    outputs: Sequence[int],
    size: int,
    tolerance: float,
    seed: int,
    options: Mapping[str, Any],
) -> Try:
    import numpy

    args = list(inputs(size, numpy.random.default_rng((seed, size))))
    before = [value.copy() if isinstance(value, numpy.ndarray) else value for value in args]
    wanted = reference(*[value.copy() if isinstance(value, numpy.ndarray) else value for value in args])
    wanted = wanted if isinstance(wanted, (tuple, list)) else (wanted,)
    if len(wanted) != len(outputs):
        raise ValueError(f"the reference gives {len(wanted)} results, for {len(outputs)} outputs")
    for index in outputs:
        _poison(args[index])
    report = check(candidate, args=args, seed=seed, **{**dict(launch(size)), **options})
    if report.verdict == "findings":
        bad = [f for f in report.findings if f.level != "note"]
        return Try(size, _KINDS.get(bad[0].rule, "race"), bad[0].message, report)
    if report.verdict != "clean":
        return Try(size, report.verdict, report.summary, report)
    for index, result in zip(outputs, wanted):
        difference = _compare(args[index], result, tolerance)
        if difference is not None:
            return Try(size, "wrong", difference, report)
    for index, (value, old) in enumerate(zip(args, before)):
        if index not in outputs and isinstance(value, numpy.ndarray) and value.tobytes() != old.tobytes():
            return Try(size, "wrong", f"argument {index}, an input, was changed", report)
    return Try(size, "clean", report.summary, report)


def judge(
    candidate: str | os.PathLike[str],
    reference: Callable[..., Any],
    inputs: Callable[[int, Any], Sequence[Any]],
    launch: Callable[[int], Mapping[str, Any]],
    outputs: Sequence[int],
    *,
    sizes: Sequence[int] = SIZES,
    tolerance: float = 1e-3,
    seed: int = 1,
    budget: float = 60.0,
    **options: Any,
) -> Judgement:
    """Judges a kernel by its results, races, barriers and accesses to memory, for several sizes.

    Args:
        candidate: CUDA source or PTX, as `racetrap.check` takes it.
        reference: Called with the arguments as the kernel gets them; gives the array that each output must hold, one or a tuple.
        inputs: The arguments for a size: called with the size and a generator of `numpy.random`.
        launch: How a size is launched: `lambda n: {"grid": (n + 255) // 256, "block": 256}`.
        outputs: Which arguments the kernel writes; they come filled with bytes of 0xFF.
        sizes: In this order.
        tolerance: Absolute and relative.
        budget: Seconds for all sizes; those that are left then are `not_run`.
        options: As `racetrap.check` takes them.
    """
    until = time.monotonic() + budget
    tries: list[Try] = []
    for size in sizes:
        left = until - time.monotonic()
        if left <= 0:
            tries.append(Try(size, "not_run", "the time was over", None))
            continue
        try:
            own = {"timeout": left, **options}
            tries.append(_one(candidate, reference, inputs, launch, outputs, size, tolerance, seed, own))
        except CompileError as error:
            tries.append(Try(size, "refused", str(error), None))
            break
        except Error as error:
            tries.append(Try(size, "not_run", str(error), None))
    verdicts = {one.verdict for one in tries} or {"not_run"}
    return Judgement(next(v for v in _ORDER if v in verdicts), tuple(tries))
