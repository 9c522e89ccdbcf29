"""Where the compiler is found: what `racetrap setup` and `pip install racetrap[cuda]` bring needs no variable."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import racetrap
from needs import needs

ROOT = Path(__file__).parents[2]
COMMAND = Path(racetrap.__file__).parent / "_bin/racetrap"


def toolkit():
    needs("nvcc")
    return Path(os.environ.get("CUDA_PATH") or Path(shutil.which("nvcc")).resolve().parents[1]).resolve()


def test_the_extra_names_what_setup_gets():
    wheels = re.findall(r"^(nvidia-\S+)", (ROOT / "crates/toolchain/src/cuda-wheels.txt").read_text(), re.MULTILINE)
    extra = re.search(r"^cuda = \[(.*?)\]", (ROOT / "python/pyproject.toml").read_text(), re.MULTILINE | re.DOTALL)
    assert re.findall(r'"(.*?)"', extra[1]) == wheels and len(wheels) >= 8


#: No variables of CUDA, another home, and no compiler in the path.
def without_variables(home):
    (home / "k.cu").write_text("__global__ void k(int *a) { a[threadIdx.x] = 1; }\n")
    kept = {name: value for name, value in os.environ.items() if name not in ("CUDA_PATH", "CUDA_HOME", "XDG_DATA_HOME", "PYTHONPATH")}
    return {**kept, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "PATH": "/usr/bin:/bin"}


CHECK = "import racetrap; print(racetrap.check('k.cu', grid=1, block=32, args=['i32[32]:zeros']).verdict)"


def runs(command, home):
    return subprocess.run(command, env=without_variables(home), cwd=home, capture_output=True, text=True)


def test_without_a_compiler_the_error_says_how_to_get_one(tmp_path):
    said = runs([sys.executable, "-c", CHECK], tmp_path)
    if said.returncode == 0:
        pytest.skip("this environment has a compiler")
    assert "NoCompilerError" in said.stderr and "racetrap setup" in said.stderr and "racetrap[cuda]" in said.stderr, said.stderr


def test_what_setup_brings_is_found(tmp_path):
    (tmp_path / ".local/share/racetrap").mkdir(parents=True)
    (tmp_path / ".local/share/racetrap/cuda").symlink_to(toolkit())
    said = runs([sys.executable, "-c", CHECK], tmp_path)
    assert said.stdout == "clean\n", said.stderr
    if COMMAND.is_file():
        said = runs([COMMAND, "check", "k.cu", "--grid", "1", "--block", "32", "--arg", "a=i32[32]:zeros"], tmp_path)
        assert said.returncode == 0 and "\nclean k.cu: " in said.stdout, said.stdout + said.stderr


def test_what_the_extra_brings_is_found(tmp_path):
    """A copy of the package, with NVIDIA's folder beside it, as in `site-packages`."""
    site = tmp_path / "site"
    shutil.copytree(Path(racetrap.__file__).parent, site / "racetrap")
    (site / "nvidia").mkdir()
    (site / "nvidia/cu13").symlink_to(toolkit())
    home = tmp_path / "home"
    home.mkdir()
    said = runs([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(site)!r}); {CHECK}"], home)
    assert said.stdout == "clean\n", said.stderr
    if COMMAND.is_file():
        said = runs([site / "racetrap/_bin/racetrap", "check", "k.cu", "--grid", "1", "--block", "32", "--arg", "a=i32[32]:zeros"], home)
        assert said.returncode == 0 and "\nclean k.cu: " in said.stdout, said.stdout + said.stderr
