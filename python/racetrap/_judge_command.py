"""The command `racetrap judge CANDIDATE REFERENCE.py`, which the wheel adds to those of the program."""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from ._judge import judge

_ABOUT = """\
Judge a kernel that somebody, or something, has written: by its results, races, barriers and accesses to memory, for sizes and values that
are drawn. The candidate is compiled in a sandbox and runs on the simulator; its host code does not run but in a sandbox. REFERENCE.py is
yours, runs here, and defines

  reference(*args)      what the outputs must hold: an array of NumPy, or a tuple of them
  inputs(size, random)  the arguments for a size; `random` is a generator of numpy.random
  launch(size)          how it is launched: {"grid": …, "block": …, "kernel": …}; or, where the candidate is the source of an
                        extension for PyTorch, function = "name" of the host function, which then runs in a sandbox
  outputs = (0,)        which arguments the kernel writes
  sizes, tolerance      may be left out
"""

_STATUS = """\
Exit status: 0 clean, for the sizes and schedules that are named; 1 race, barrier, memory, wrong or refused; 2 usage; 3 unsupported,
inconclusive or not_run.
"""


def main(arguments: Sequence[str]) -> int:
    """Runs the command; its exit status."""
    parser = argparse.ArgumentParser("racetrap judge", description=_ABOUT, epilog=_STATUS, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("candidate", help="CUDA source (.cu) or PTX (.ptx)")
    parser.add_argument("reference", help="a Python file")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--kernel", help="the kernel's name, where there are several")
    parser.add_argument("--seed", type=int, default=1, help="of sizes, values and schedules")
    parser.add_argument("--budget", type=float, default=60.0, metavar="SECONDS", help="for all sizes")
    given = parser.parse_args(arguments)
    for file in (given.candidate, given.reference):
        if not Path(file).is_file():
            parser.error(f"there is no file `{file}`")
    told = runpy.run_path(given.reference)
    missing = [name for name in ("reference", "inputs", "launch") if not callable(told.get(name)) and (name != "launch" or "function" not in told)]
    if missing:
        parser.error(f"{given.reference} does not define `{missing[0]}`")
    options = {"kernel": given.kernel} if given.kernel else {}
    judgement = judge(
        Path(given.candidate),
        told["reference"],
        told["inputs"],
        told.get("launch"),
        told.get("outputs", (0,)),
        function=told.get("function"),
        sizes=told.get("sizes"),
        tolerance=told.get("tolerance", 1e-3),
        seed=given.seed,
        budget=given.budget,
        **options,
    )
    print(judgement.to_json() if given.json else judgement)
    if judgement.is_clean:
        return 0
    return 3 if judgement.verdict in ("unsupported", "inconclusive", "not_run") else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
