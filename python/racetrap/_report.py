"""The verdict on a kernel, with its findings."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from ._errors import FindingsError
from ._native import Checked


@dataclasses.dataclass(frozen=True)
class Place:
    """A line of the source, and what happened there."""

    #: The file, as the compiler saw it; the PTX itself where it names no source.
    file: str
    #: From 1.
    line: int
    #: ``thread (32,0,0) of block (0,0,0) writes `tile[32]` ``
    message: str
    #: `guilty`, or `context` for a line that leads there.
    role: str
    #: The thread within its block, and the block, where it was a thread.
    thread: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    #: The instruction of PTX.
    instruction: str | None = None


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that is wrong with the kernel."""

    #: The rule that it breaks: `data-race`. `racetrap explain RULE` describes it.
    rule: str
    #: `error`, `warning` or `note`.
    level: str
    #: One line, with the memory by its name.
    message: str
    #: The guilty lines, the one that completed the error first, and those that lead there.
    places: tuple[Place, ...]
    #: Further facts.
    notes: tuple[str, ...]
    #: The remedy.
    help: str | None
    #: How often it happened.
    count: int

    @property
    def guilty(self) -> tuple[Place, ...]:
        """The places without those that only lead there."""
        return tuple(place for place in self.places if place.role == "guilty")


def _three(value: Any) -> tuple[int, int, int] | None:
    if not isinstance(value, list) or len(value) != 3:
        return None
    x, y, z = value
    return (x, y, z)


def _place(data: dict[str, Any]) -> Place:
    who = data.get("who") or {}
    return Place(
        file=data.get("file", ""),
        line=data.get("line", 0),
        message=data["text"],
        role=data.get("role", ""),
        thread=_three(who.get("thread")),
        block=_three(who.get("block")),
        instruction=data.get("instruction"),
    )


def _finding(data: dict[str, Any]) -> Finding:
    return Finding(
        rule=data["rule"],
        level=data["level"],
        message=data["title"],
        places=tuple(_place(place) for place in data["places"]),
        notes=tuple(data.get("notes", ())),
        help=data.get("help"),
        count=data.get("count", 1),
    )


class Report:
    """The verdict on a kernel. `str()` is what a terminal shows; a notebook shows the page with pictures."""

    def __init__(self, checked: Checked, by_design: frozenset[str] = frozenset()) -> None:
        self._checked = checked
        all_findings = json.loads(checked.render("json"))["checks"][0]["findings"]
        every = tuple(_finding(data) for data in all_findings)
        #: The findings, the worst first.
        self.findings: tuple[Finding, ...] = tuple(f for f in every if f.rule not in by_design)
        #: Findings of rules that the package whose kernel it is breaks by design (Triton: `same-value-write`).
        self.by_design: tuple[Finding, ...] = tuple(f for f in every if f.rule in by_design)
        schedules, builds, guessed, promise = checked.explored()
        #: The schedules that were run, in the notation of `racetrap check --schedule`.
        self.schedules: tuple[str, ...] = tuple(schedules)
        #: The builds of CUDA source (`optimised`, `unoptimised`); empty for PTX.
        self.builds: tuple[str, ...] = tuple(builds)
        #: Arguments that were guessed because they were left out.
        self.guessed: tuple[str, ...] = tuple(guessed)
        #: What a clean verdict promises: `every-schedule`, `every-verdict`, `schedules-tried`; `None` where there are findings.
        self.promise: str | None = promise

    @property
    def verdict(self) -> str:
        """`clean`, `findings`, `inconclusive` or `unsupported`."""
        verdict = self._checked.verdict
        if verdict == "findings" and self.by_design and all(f.level == "note" for f in self.findings):
            return "clean"
        return verdict

    @property
    def is_clean(self) -> bool:
        """Whether there is neither an error nor a warning. "I could not tell" is not clean."""
        return self.verdict == "clean"

    @property
    def summary(self) -> str:
        """The verdict in a sentence: what was tried, and what it promises."""
        return self._checked.summary

    @property
    def output(self) -> str:
        """What the kernel printed."""
        return self._checked.output

    def raise_for_findings(self) -> None:
        """Raises `FindingsError` unless the kernel is clean."""
        if not self.is_clean:
            raise FindingsError(self)

    def to_json(self) -> str:
        """The report in the format of `racetrap check --format json`."""
        return self._checked.render("json")

    def to_sarif(self) -> str:
        """SARIF 2.1.0, which code-scanning services read."""
        return self._checked.render("sarif")

    def to_html(self) -> str:
        """One page with pictures, for a browser."""
        return self._checked.render("html")

    def _repr_html_(self) -> str:
        import html

        page = html.escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:36em;border:0" sandbox="allow-same-origin"></iframe>'

    def __str__(self) -> str:
        return self._checked.render("terminal")

    def __repr__(self) -> str:
        return f"<racetrap.Report {self.verdict}: {', '.join(f.rule for f in self.findings) or self.summary}>"
