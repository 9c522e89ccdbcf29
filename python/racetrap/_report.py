"""The verdict on a kernel, with its findings."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Protocol

from ._errors import FindingsError
from ._native import Checked, Watched, refused


@dataclasses.dataclass(frozen=True)
class Place:
    """A line of the source, and what happened there."""

    #: The file, as the compiler saw it; the PTX itself where it names no source.
    file: str
    #: From 1.
    line: int
    #: ``thread (32,0,0) of block (0,0,0) writes `tile[32]` ``
    message: str
    #: `guilty`, or `leads-there` for a line that leads there, such as a call that was inlined.
    role: str
    #: The thread within its block, and the block, where it was a thread.
    thread: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    #: The instruction of PTX.
    instruction: str | None = None
    #: The address of the first byte that both ends of the finding access: as the kernel sees it in global memory, else from where the memory of
    #: the block or the thread begins.
    address: int | None = None
    #: The same as the source would write it: `tile[32]`, `data[5]`; of a parameter of PTX, whose name is its index, `0[5]`. `None` where the memory
    #: has no name.
    element: str | None = None


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
    #: The state space of the memory, as PTX names it (`global`, `shared`), where the finding is about memory.
    space: str | None = None
    #: The address of its first byte: as the kernel sees it in global memory, else from where the memory of the block or the thread begins.
    address: int | None = None
    #: How many bytes.
    bytes: int | None = None

    @property
    def guilty(self) -> tuple[Place, ...]:
        """The places without those that only lead there."""
        return tuple(place for place in self.places if place.role == "guilty")


def _three(value: Any) -> tuple[int, int, int] | None:
    if not isinstance(value, list) or len(value) != 3:
        return None
    x, y, z = value
    return (x, y, z)


def _place(data: dict[str, Any], memory: dict[str, Any]) -> Place:
    who = data.get("who") or {}
    if data.get("role") != "guilty":
        memory = {}
    return Place(
        file=data.get("file", ""),
        line=data.get("line", 0),
        message=data["text"],
        role=data.get("role", ""),
        thread=_three(who.get("thread")),
        block=_three(who.get("block")),
        instruction=data.get("instruction"),
        address=memory.get("address"),
        element=memory.get("element"),
    )


def _finding(data: dict[str, Any]) -> Finding:
    memory = data.get("memory") or {}
    return Finding(
        rule=data["rule"],
        level=data["level"],
        message=data["title"],
        places=tuple(_place(place, memory) for place in data["places"]),
        notes=tuple(data.get("notes", ())),
        help=data.get("help"),
        count=data.get("count", 1),
        space=memory.get("space"),
        address=memory.get("address"),
        bytes=memory.get("bytes"),
    )


class Rendered(Protocol):
    """A report in its formats: `racetrap._native.Checked`, `Watched`, and what `racetrap exec` has written."""

    def render(self, format: str) -> str: ...


_LEVELS = ("error", "warning", "note")
#: The worst first.
_VERDICTS = ("findings", "unsupported", "inconclusive", "clean")


class Report:
    """The verdict on a kernel. `str()` is what a terminal shows; a notebook shows the page with pictures."""

    def __init__(self, shown: Rendered, by_design: frozenset[str] = frozenset()) -> None:
        self._fill(shown, by_design)

    def _fill(self, shown: Rendered, by_design: frozenset[str] = frozenset(), last: int = 1) -> None:
        """`by_design` holds for the last so many checks."""
        self._shown = shown
        checks = json.loads(shown.render("json"))["checks"]
        every: list[Finding] = []
        aside: list[Finding] = []
        verdicts = set()
        for index, check in enumerate(checks):
            rules = by_design if index >= len(checks) - last else frozenset()
            found = [_finding(data) for data in check["findings"]]
            counted = [f for f in found if f.rule not in rules]
            every += counted
            aside += [f for f in found if f.rule in rules]
            # Without what the package that made the kernel does by design.
            harmless = len(counted) < len(found) and all(f.level == "note" for f in counted)
            verdicts.add("clean" if harmless and check["verdict"] == "findings" else check["verdict"])
        every.sort(key=lambda f: _LEVELS.index(f.level))
        setting = checks[0].get("setting") or {}
        #: `clean`, `findings`, `inconclusive` or `unsupported`; and `refused`, in the report of a `CompileError`.
        self.verdict: str = next(verdict for verdict in _VERDICTS if verdict in verdicts)
        #: The verdict in a sentence: what was tried, and what it promises.
        self.summary: str = "; ".join(check["summary"] for check in checks)
        #: The findings, the worst first.
        self.findings: tuple[Finding, ...] = tuple(every)
        #: Findings of rules that the package whose kernel it is breaks by design (Triton: `same-value-write`).
        self.by_design: tuple[Finding, ...] = tuple(aside)
        #: The kernels that were reached and watched.
        self.kernels: tuple[str, ...] = tuple(dict.fromkeys(check["setting"]["entry"] for check in checks if check.get("setting")))
        #: Blocks, and threads of a block, where one kernel was checked.
        self.grid: tuple[int, int, int] | None = _three(setting.get("grid"))
        self.block: tuple[int, int, int] | None = _three(setting.get("block"))
        #: What the kernel printed.
        self.output: str = "".join(check["output"] for check in checks)
        #: The schedules that were run, in the notation of `racetrap check --schedule`.
        self.schedules: tuple[str, ...] = ()
        #: The builds of CUDA source (`optimised`, `unoptimised`); empty for PTX.
        self.builds: tuple[str, ...] = ()
        #: Arguments that were guessed because they were left out.
        self.guessed: tuple[str, ...] = ()
        #: What a clean verdict promises: `every-schedule` (every schedule gives this result), `every-verdict` (values may depend on the
        #: order of threads), `schedules-tried`; `None` where there are findings, and for whole programs.
        self.promise: str | None = None
        #: Warp-instructions that were executed and watched, under all schedules and of all builds; `None` for whole programs, whose summary
        #: says it.
        self.instructions: int | None = None
        #: Accesses to memory that were judged, one for each thread and instruction; `None` for whole programs.
        self.accesses: int | None = None
        if isinstance(shown, Checked):
            schedules, builds, guessed, self.promise = shown.explored()
            self.schedules, self.builds, self.guessed = tuple(schedules), tuple(builds), tuple(guessed)
            self.instructions = shown.instructions
            self.accesses = shown.accesses
        if isinstance(shown, Watched):
            self.kernels = tuple(dict.fromkeys([*shown.kernels, *self.kernels]))

    @property
    def is_clean(self) -> bool:
        """Whether there is neither an error nor a warning. "I could not tell" is not clean."""
        return self.verdict == "clean"

    @property
    def schedule_independent(self) -> bool:
        """Whether every schedule gives this result on these arguments."""
        return self.promise == "every-schedule"

    def raise_for_findings(self) -> None:
        """Raises `FindingsError` unless the kernel is clean."""
        if not self.is_clean:
            raise FindingsError(self)

    def to_json(self) -> str:
        """The report in the format of `racetrap check --format json`."""
        return self._shown.render("json")

    def to_sarif(self) -> str:
        """SARIF 2.1.0, which code-scanning services read."""
        return self._shown.render("sarif")

    def to_html(self) -> str:
        """One page with pictures, for a browser."""
        return self._shown.render("html")

    def _repr_html_(self) -> str:
        import html

        page = html.escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:36em;border:0" sandbox="allow-same-origin"></iframe>'

    def __str__(self) -> str:
        return self._shown.render("terminal")

    def __repr__(self) -> str:
        return f"<racetrap.Report {self.verdict}: {', '.join(f.rule for f in self.findings) or self.summary}>"


class RefusedReport(Report):
    """The report on a source that the compiler refuses: its text is the `summary`. JSON calls it `inconclusive`, as the command does."""

    def __init__(self, message: str, name: str = "source") -> None:
        super().__init__(refused(name, message))
        self.verdict = "refused"

    def __str__(self) -> str:
        return f"refused: {self.summary}"

    def __repr__(self) -> str:
        return f"<racetrap.Report {self}>"
