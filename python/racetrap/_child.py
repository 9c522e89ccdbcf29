"""The process in which `racetrap.run` calls a function: `python -m racetrap._child CALL ANSWER`."""

from __future__ import annotations

import pickle
import runpy
import sys
import types
from pathlib import Path


def main(call: str, answer: str) -> None:
    """Reads what is to be called from one file, and writes what came of it to the other."""
    with open(call, "rb") as file:
        sys.path[:], script = pickle.load(file)
        if script is not None:
            # As `multiprocessing.spawn` does it: its classes and functions are those of `__main__`, and its last lines are not run.
            sys.argv[:] = [script]
            module = types.ModuleType("__mp_main__")
            module.__dict__.update(runpy.run_path(script, run_name="__mp_main__"))
            sys.modules["__main__"] = sys.modules["__mp_main__"] = module
        function, args, keywords = pickle.load(file)
    try:
        said: tuple[bool, object] = (False, function(*args, **keywords))
    except Exception as error:
        said = (True, error)
    Path(answer).write_bytes(pickle.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
