"""What a diagnosis is: failures with their answers, the side at fault, and one sentence that says it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, assert_never

from inspector.issues.advice import Advice, advice_on
from inspector.issues.catalogue.commands import runnable
from inspector.issues.catalogue.issue import Confidence, Issue, Side
from inspector.issues.catalogue.routes import Route
from inspector.issues.catalogue.steps import ReleaseMeasured, Situation, beside, links_for, steps_for
from inspector.issues.catalogue.versions import ReportedVersion
from inspector.issues.ranking import Answer
from inspector.issues.reference_parsers import ParserResult
from inspector.protocol.engines import DEFAULT

_WIDTHS: Final = (0, 1, 3, 6)
"""Characters to cut from `11-20 22:47` for minutes, ten minutes, hours, days."""
_MOST: Final = 20_000


class Count(NamedTuple):
    """How often something happened in one stretch of time."""

    time: str
    """As the log writes it: `11-20 22:47`, or coarser `11-20 22:4x`, `11-20 22h`, `11-20`; may be empty."""
    name: str
    version: str
    """The server's version then, empty if unknown."""
    times: int


class Timeline:
    """Adds up events by time, name and version."""

    def __init__(self, most: int = _MOST) -> None:
        self._counts: dict[tuple[str, str, str], int] = {}
        self._width = 0
        self._most = most

    def add(self, minute: str, name: str, version: str) -> None:
        """Count one event; `minute` is `MM-DD HH:MM` with or without a year before it, or empty."""
        key = (self._cut(minute), name, version)
        self._counts[key] = self._counts.get(key, 0) + 1
        while len(self._counts) > self._most and self._width < len(_WIDTHS) - 1:
            self._width += 1
            self._merge()
        if len(self._counts) > self._most:
            self._forget_times()

    def __iter__(self) -> Iterator[Count]:
        marks = {0: "", 1: "x", 2: "h", 3: ""}
        for (time, name, version), count in sorted(self._counts.items()):
            yield Count(time + marks[self._width] if time else "", name, version, count)

    def _cut(self, minute: str) -> str:
        return minute[: len(minute) - _WIDTHS[self._width]] if minute else ""

    def _merge(self) -> None:
        before, self._counts = self._counts, {}
        cut = _WIDTHS[self._width] - _WIDTHS[self._width - 1]
        for (time, name, version), count in before.items():
            key = (time[: len(time) - cut] if time else "", name, version)
            self._counts[key] = self._counts.get(key, 0) + count

    def _forget_times(self) -> None:
        """More days than there is room for: dates that make no sense."""
        before, self._counts = self._counts, {}
        for (_, name, version), count in before.items():
            key = ("", name, version)
            self._counts[key] = self._counts.get(key, 0) + count


NOTHING: Final = "No known issue matches this text."
_DIAGNOSE_LOG: Final = "docker logs CONTAINER 2>&1 | python -m inspector diagnose"
_PASTE_NEXT: Final = (
    "Paste the error line, the traceback down to its last line, or the server's log; "
    "for missing text record the response with `python -m inspector record`."
)


class DiagnosisOutcome(StrEnum):
    """What came out of a diagnosis."""

    KNOWN = "known"
    """A message of a program, or the findings of a capture, lead to an entry."""
    ROUTED = "routed"
    """The text is about another server, or about a server that does not start."""
    UNKNOWN = "unknown"
    """Something fails, and no entry knows it."""
    NOTHING = "nothing"
    """No failure and no entry."""


_SURE: Final = 20
"""Weight from which an answer is more than a possibility."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failure's text in the input, with what it may be."""

    message: str
    count: int
    first_line: int | None = None
    """Line number, from 1; None in a capture."""
    answers: tuple[Answer, ...]
    """Best first; empty when the catalogue does not know the text."""
    around: tuple[tuple[str, ...], ...] = ()
    """Lines around its first occurrences."""
    share: float | None = None
    """Share of failed chat and Responses requests, if the log has access lines."""
    by_version: dict[str, int] = field(default_factory=dict)
    cut: bool = False
    """Whether the text ends within the message."""
    without_error: bool = False
    """Whether it is a traceback that breaks off before its error."""

    @property
    def general(self) -> bool:
        """True when the text only carries other failures."""
        return bool(self.answers) and all(answer.issue.general for answer in self.answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What a text says is wrong."""

    sentence: str
    """The side at fault first."""
    sides: tuple[Side, ...]
    """Likeliest first; empty when nothing is known."""
    answers: tuple[Answer, ...]
    """Ranked, over all failures."""
    failures: tuple[Failure, ...]
    notes: tuple[str, ...] = ()
    version: str | None = None
    """The server's version, when the evidence agrees on one."""
    server: str = DEFAULT.label
    """What the server is called that the versions are of."""
    versions: tuple[ReportedVersion, ...] = ()
    lines: int = 0
    characters: int = 0
    requests: dict[str, int] = field(default_factory=dict)
    """Requests by path, from an access log."""
    timeline: tuple[Count, ...] = ()
    """Failures by message, and requests under the name `requests`, by time and version."""
    is_log: bool = False
    situation: Situation = field(default_factory=Situation)
    """What the steps of an answer depend on."""
    parser_results: tuple[ParserResult, ...] = ()
    """For a capture with tokens that the format rejects: the results of strict and lenient parsing."""
    route: Route | None = None
    """Where the text belongs, if not to Harmony in vLLM."""
    closest: tuple[Issue, ...] = ()
    """Without an answer: the entries in the most similar words. None of them is said to be the cause."""
    paste_next: str = ""
    """Without an answer: what else to give."""
    log_missing: bool = False
    """Whether that is the server's log: a command reads it where it is, a page has a place for it."""
    measured: ReleaseMeasured | None = None
    """For a description of tool calls that names one release: what that delivers in the lab's matrix."""
    proven: bool = False
    """Whether a capture without findings has evidence that nothing was lost; a text never has."""

    @property
    def advice(self) -> tuple[Advice, ...]:
        """The answers with what to do about each."""
        return advice_on(self.answers, self.situation)

    def steps_for(self, issue: Issue) -> tuple[str, ...]:
        """What to do about one issue on this server, best first; at least one step."""
        first = self.answers[0].issue if self.answers else issue
        return steps_for(issue, beside(first, self.situation))

    def links_for(self, issue: Issue) -> tuple[str, ...]:
        """Where an issue is discussed, of this server or of none in particular."""
        return links_for(issue, self.situation.engine)

    def settles(self, issue: Issue) -> str:
        """The one thing to run or do that shows whether it is this issue."""
        command = issue.experiment or issue.settle
        return runnable(command, model=self.situation.model) if command else self.steps_for(issue)[0]

    @property
    def outcome(self) -> DiagnosisOutcome:
        """What came out, as a code."""
        if self.route is not None:
            return DiagnosisOutcome.ROUTED
        if self.answers and self.sides:
            return DiagnosisOutcome.KNOWN
        return DiagnosisOutcome.UNKNOWN if self.failures else DiagnosisOutcome.NOTHING

    @property
    def settled(self) -> bool:
        """True when an entry explains what was found, or when it is proven that nothing was lost."""
        return self.outcome is DiagnosisOutcome.KNOWN or (
            self.outcome is DiagnosisOutcome.NOTHING and self.proven
        )

    @property
    def asks_for_log(self) -> bool:
        """True when the next step is to give the server's log."""
        unexplained = self.outcome in {DiagnosisOutcome.UNKNOWN, DiagnosisOutcome.NOTHING}
        return self.log_missing and unexplained

    @property
    def next_step(self) -> str:
        """The first thing to do; empty where there is nothing to do."""
        match self.outcome:
            case DiagnosisOutcome.KNOWN:
                return self.steps_for(self.answers[0].issue)[0]
            case DiagnosisOutcome.ROUTED:
                return self.route.steps[0] if self.route is not None else ""
            case DiagnosisOutcome.NOTHING if self.measured is not None and self.measured.next_step:
                return self.measured.next_step
            case DiagnosisOutcome.UNKNOWN | DiagnosisOutcome.NOTHING:
                return f"{self.paste_next}: {_DIAGNOSE_LOG}" if self.asks_for_log else self.paste_next
            case _:
                assert_never(self.outcome)


def sentence(
    certain: Sequence[Answer],
    failures: Sequence[Failure],
    *,
    blame: Sequence[Side] = (),
    proven: bool = False,
) -> str:
    """One or two sentences: the side at fault first. `certain` are the answers to known failures.

    `blame` is those sides of the first answer's issue that are possible here, if not all of them; `proven` is
    true where tokens show that it is that side, whatever the issue is.
    """
    if not certain:
        if failures:
            first = failures[0]
            if first.first_line is None:
                return f"Unknown: no known issue explains the findings. {first.message}"
            return f"Unknown: no known issue produces “{first.message}”."
        return NOTHING
    issue = certain[0].issue
    blamed = _either([f"the {side}" for side in (blame or issue.sides)])
    kinds = {failure.answers[0].issue.id for failure in failures if failure.answers and not failure.general}
    more = f" Failures of other kinds: {len(kinds) - 1}." if len(kinds) > 1 else ""
    confidence = certain[0].sure
    sure = certain[0].weight >= _SURE if confidence is None else confidence is not Confidence.LOW
    fault = "At fault" if sure or proven else "Possibly at fault"
    looks = "" if sure or not proven else "Looks like: "
    return f"{fault}: {blamed}. {looks}{issue.title}.{more}"


def _either(words: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else "".join(words)


def paste_next(failures: Sequence[Failure], *, of_ours: bool, of_server: bool) -> tuple[str, bool]:
    """What to give next for a text that no entry knows, and whether that is the server's log."""
    if not failures:
        return _PASTE_NEXT, False
    if failures[0].cut or failures[0].without_error:
        return "The message is cut off: paste the traceback down to its last line.", False
    if of_server:
        above = (
            "Paste the lines above it too: the first error of the server's log is the cause of later ones."
        )
        return above, False
    if of_ours:
        return "Paste the server's log for the same time", True
    return (
        f"Nothing in this text is from {DEFAULT.label} or gpt-oss. If the request went to such a server, "
        "paste its log for the same time",
        True,
    )
