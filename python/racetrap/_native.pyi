"""The native part: see `python/src/lib.rs`."""

__version__: str

class Failure(Exception): ...

class Checked:
    @property
    def verdict(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def output(self) -> str: ...
    def explored(self) -> tuple[list[str], list[str], list[str], str | None]: ...
    def render(self, format: str) -> str: ...
    def buffer(self, index: int, element: str) -> list[int]: ...

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
