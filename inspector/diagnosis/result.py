"""What a diagnosis is: failures with their answers, the side at fault, and one sentence that says it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from inspector.diagnosis.issue import Issue, Side
from inspector.diagnosis.judges import Judgement
from inspector.diagnosis.ranking import Answer
from inspector.diagnosis.scan import VersionSeen
from inspector.diagnosis.timeline import Count
from inspector.engines import DEFAULT

__all__ = ["Diagnosis", "Failure", "sentence"]

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
    nearest: tuple[Issue, ...] = ()
    """For an unknown text: the entries whose texts and titles resemble it most."""
    around: tuple[tuple[str, ...], ...] = ()
    """Lines around its first occurrences."""
    share: float | None = None
    """Of the requests to chat and Responses, where a log tells them."""
    by_version: dict[str, int] = field(default_factory=dict)

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
    versions: tuple[VersionSeen, ...] = ()
    lines: int = 0
    characters: int = 0
    requests: dict[str, int] = field(default_factory=dict)
    """Requests by path, from an access log."""
    timeline: tuple[Count, ...] = ()
    """Failures by message, and requests under the name `requests`, by time and version."""
    is_log: bool = False
    judges: tuple[Judgement, ...] = ()
    """For a capture with tokens that the format refuses: what strict and lenient parsing make of them."""


def sentence(certain: Sequence[Answer], failures: Sequence[Failure]) -> str:
    """One or two sentences: the side at fault first. `certain` are the answers to known failures."""
    if not certain:
        if failures:
            first = failures[0]
            if first.first_line is None:
                return f"Unknown: no entry of the catalogue explains the findings. {first.message}"
            return f"Unknown: no entry of the catalogue makes “{first.message}”."
        return "Nothing here looks like a failure."
    issue = certain[0].issue
    kinds = {failure.answers[0].issue.id for failure in failures if failure.answers and not failure.general}
    more = f" Failures of other kinds: {len(kinds) - 1}." if len(kinds) > 1 else ""
    sure = "At fault" if certain[0].weight >= _SURE else "Perhaps at fault"
    return f"{sure}: the {' or the '.join(issue.sides)}. {issue.title}.{more}"
