"""racetrap catches race bugs in GPU kernels, without a GPU.

>>> import numpy, racetrap
>>> tile = numpy.arange(64, dtype=numpy.int32)
>>> report = racetrap.check("reverse.cu", grid=1, block=64, args=[tile])  # doctest: +SKIP
>>> report.verdict                                                        # doctest: +SKIP
'findings'

`check` runs a kernel of CUDA C++ or PTX; `run` a whole program, and `with watch()` a part of this one; `racetrap.numba`, `racetrap.triton` and `racetrap.cupy` run those of these packages, and the
plugin for pytest gives tests a fixture. A clean verdict holds for the arguments that were passed; `Report.promise` says for which schedules.
"""

from ._check import check
from ._errors import (
    ArgumentError,
    CompileError,
    Error,
    FindingsError,
    LaunchError,
    NoCompilerError,
    ResultError,
)
from ._judge import Judgement, Try, judge
from ._native import __version__
from ._program import ProgramReport, WatchReport, run, watch
from ._report import Finding, Place, Report

__all__ = [
    "ArgumentError",
    "CompileError",
    "Error",
    "Finding",
    "FindingsError",
    "Judgement",
    "LaunchError",
    "NoCompilerError",
    "Place",
    "ProgramReport",
    "Report",
    "ResultError",
    "Try",
    "WatchReport",
    "__version__",
    "check",
    "judge",
    "run",
    "watch",
]
