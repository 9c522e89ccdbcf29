"""What README.md and python/README.md show runs, and prints what their comments say."""

import re
import shutil
from pathlib import Path

from needs import marked

ROOT = Path(__file__).parents[2]

pytestmark = marked("nvcc")


def blocks(name):
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)


def test_readme(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    (block,) = blocks("README.md")
    exec(compile(block, "README.md", "exec"), {})
    said = capsys.readouterr().out
    assert said.startswith("clean every-schedule [63 62 61]\n") and "error[data-race]" in said and "put `__syncthreads()` between" in said
    assert block.count("\n") <= 10


def test_the_packages_readme(monkeypatch, tmp_path):
    from racetrap import FindingsError

    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "src/new/template/kernels/example/reverse.cu", tmp_path)
    (block,) = blocks("python/README.md")
    try:
        exec(compile(block, "python/README.md", "exec"), {})
    except FindingsError as error:
        assert "data-race" in str(error)
