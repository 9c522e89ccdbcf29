"""What a test needs and a machine need not have: packages, the CUDA compiler (`nvcc`), the programs that the wheel carries (`wheel`).

Without it the test is skipped; but where RACETRAP_NEEDS names it, as ci/wheel.sh does for each environment, the test runs and fails.
"""

import importlib
import importlib.util
import os
import shutil
from pathlib import Path

import pytest
import racetrap


def _is_there(what):
    if what == "nvcc":
        return bool(shutil.which("nvcc") or os.environ.get("CUDA_PATH"))
    if what == "wheel":
        return (Path(racetrap.__file__).parent / "_bin/racetrap").is_file()
    return importlib.util.find_spec(what) is not None


def missing(*all):
    """What is not there and may be missing."""
    promised = os.environ.get("RACETRAP_NEEDS", "").split()
    return [what for what in all if what not in promised and not _is_there(what)]


def marked(*all):
    """A mark for tests that need all of these."""
    return pytest.mark.skipif(bool(missing(*all)), reason=f"no {', '.join(missing(*all))}")


def needs(*all):
    """Skips the test that calls it, where one of these is missing; gives the first one's module, if it is a package."""
    if lacking := missing(*all):
        pytest.skip(f"no {', '.join(lacking)}")
    return None if all[0] in ("nvcc", "wheel") else importlib.import_module(all[0])
