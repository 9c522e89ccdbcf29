"""What is raised: everything is an `Error`, whose text is what `racetrap check` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from ._report import Report


class Error(Exception):
    """A kernel could not be checked. `kind` is the step that failed: `input`, `kernel`, `memory`, `time`, …"""

    kind: str

    def __init__(self, message: str, kind: str = "other") -> None:
        super().__init__(message)
        self.kind = kind


class CompileError(Error):
    """The compiler refuses the source; the text is the compiler's."""

    @property
    def report(self) -> Report:
        """A report with the verdict `refused`, for those who keep one of each source."""
        from ._report import RefusedReport

        return RefusedReport(str(self))


class NoCompilerError(Error):
    """There is no CUDA compiler: `racetrap setup` gets one, or `pip install racetrap[cuda]`."""


class ArgumentError(Error, ValueError):
    """An argument does not fit its parameter."""


class LaunchError(Error, ValueError):
    """No GPU can launch the kernel so."""


class FindingsError(AssertionError):
    """The kernel is not clean. `report` is the report; the text is what a terminal shows."""

    report: Report

    def __init__(self, report: Report) -> None:
        super().__init__(f"the kernel is not clean\n\n{report}")
        self.report = report


class ResultError(AssertionError):
    """The kernel leaves other values than the reference. `report` is the report on its run."""

    report: Report

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report


_CLASSES: dict[str, type[Error]] = {
    "refused": CompileError,
    "no-compiler": NoCompilerError,
    "argument": ArgumentError,
    "launch": LaunchError,
}


def raise_error(kind: str, message: str) -> NoReturn:
    """Raises the class for a kind."""
    if kind == "no-compiler":
        message += "\nhelp: or `pip install racetrap[cuda]`"
    raise _CLASSES.get(kind, Error)(message, kind)
