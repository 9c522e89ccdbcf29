"""The native part: see `python/src/lib.rs`."""

from os import PathLike

__version__: str

class Failure(Exception): ...

class Checked:
    @property
    def instructions(self) -> int: ...
    @property
    def accesses(self) -> int: ...
    def explored(self) -> tuple[list[str], list[str], list[str], str | None]: ...
    def render(self, format: str) -> str: ...
    def buffer(self, index: int) -> bytes: ...

class Watched:
    @property
    def kernels(self) -> list[str]: ...
    def render(self, format: str) -> str: ...

def toolkit(folder: str | PathLike[str]) -> None: ...
def compiler() -> PathLike[str]: ...
def confined(
    program: str | PathLike[str],
    arguments: list[str],
    folder: str | PathLike[str],
    *,
    read: list[str | PathLike[str]],
    environment: tuple[str, str],
    seconds: float,
) -> tuple[int | None, str, str, str, bool]: ...
def watch(
    library: str | PathLike[str], folder: str | PathLike[str], *, first: int, schedules: int, capability: int
) -> tuple[list[tuple[str, str]], list[str]]: ...
def refused(name: str, message: str, /) -> Watched: ...
def watched(folder: str | PathLike[str], from_: int, name: str, others: list[Checked], /) -> Watched: ...
def run(
    command: list[str],
    library: str | PathLike[str],
    folder: str | PathLike[str],
    *,
    name: str,
    first: int,
    schedules: int,
    capability: int,
    kernels: list[str],
    timeout: float | None,
) -> tuple[int, Watched]: ...
def check(
    *,
    ptx: str | None,
    file: str | None,
    kernel: str | None,
    grid: tuple[int, int, int] | None,
    block: tuple[int, int, int] | None,
    shared: int | None,
    cooperative: bool,
    args: list[tuple[str, bytes] | str],
    names: list[str | None],
    schedules: int | None,
    schedule: str | None,
    inputs: int | None,
    seed: int | None,
    timeout: float | None,
    max_steps: int | None,
    jobs: int | None,
    defines: list[str],
    includes: list[str],
    std: str | None,
    arch: str | None,
) -> Checked: ...
