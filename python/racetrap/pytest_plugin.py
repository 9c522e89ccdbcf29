"""The plugin for pytest: the fixture `racetrap`, the marker `racetrap` and the option `--racetrap`.

    @pytest.mark.racetrap(schedules=16)
    def test_reverse(racetrap):
        racetrap.check("reverse.cu", grid=1, block=64, args=[numpy.arange(64)])
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ._report import Report


class RacetrapWarning(UserWarning):
    """A kernel is not clean, and `--racetrap=warn` is on."""


class Checker:
    """The fixture: checks kernels, and fails the test where one is not clean."""

    def __init__(self, mode: str, options: dict[str, Any], record: Callable[[str, object], None]) -> None:
        self._mode = mode
        self._options = options
        self._record = record

    def check(self, *args: Any, **options: Any) -> Report:
        """`racetrap.check`"""
        from . import check

        return self._judge(lambda: check(*args, **{**self._options, **options}))

    def numba(self, launch: Any, *args: Any, **options: Any) -> Report:
        """`racetrap.numba.check`"""
        from .numba import check

        return self._judge(lambda: check(launch, *args, **{**self._options, **options}))

    def cupy(self, *args: Any, **options: Any) -> Report:
        """`racetrap.cupy.check`"""
        from .cupy import check

        return self._judge(lambda: check(*args, **{**self._options, **options}))

    def triton(self, kernel: Any, grid: Any, *args: Any, **options: Any) -> Report:
        """`racetrap.triton.check`"""
        from .triton import check

        return self._judge(lambda: check(kernel, grid, *args, check_options=self._options, **options))

    def _judge(self, look: Callable[[], Report]) -> Report:
        from ._errors import CompileError

        try:
            report = look()
        except CompileError as error:
            report = error.report
        self._record("racetrap.verdict", report.verdict)
        for finding in report.findings:
            lines = ", ".join(f"{place.file}:{place.line}" for place in finding.guilty)
            self._record(f"racetrap.{finding.rule}", lines)
        if not report.is_clean:
            text = f"the kernel is not clean\n\n{report}"
            if self._mode == "error":
                pytest.fail(text, pytrace=False)
            warnings.warn(RacetrapWarning(text), stacklevel=3)
        return report


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option."""
    group = parser.getgroup("racetrap")
    group.addoption(
        "--racetrap",
        choices=("off", "warn", "error"),
        default="error",
        help="what a kernel that is not clean does to its test; off: tests that check kernels are skipped",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker."""
    config.addinivalue_line("markers", "racetrap(**options): options of the test's `racetrap.check`, such as `schedules=16`")


@pytest.fixture
def racetrap(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> Checker:
    """Checks kernels on racetrap's simulator: `racetrap.check(...)` fails the test unless the kernel is clean."""
    mode = str(request.config.getoption("--racetrap"))
    if mode == "off":
        pytest.skip("--racetrap=off")
    options: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers("racetrap"))):
        options.update(mark.kwargs)
    return Checker(mode, options, record_property)
