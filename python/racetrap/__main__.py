"""The command `racetrap`: the program that the wheel carries, and `racetrap judge`, which is in Python."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Becomes the program."""
    if sys.argv[1:2] == ["judge"]:
        from ._judge_command import main as judge

        sys.exit(judge(sys.argv[2:]))
    program = Path(__file__).parent / "_bin" / "racetrap"
    if not program.is_file():
        sys.exit("racetrap: this build of the package does not carry the program: install the wheel that ci/wheel.sh builds")
    os.execv(program, ["racetrap", *sys.argv[1:]])


if __name__ == "__main__":
    main()
