"""One failure's text with all its occurrences, as a scan counts it."""

from dataclasses import dataclass, field
from typing import NamedTuple

from inspector.issues.texts.anchors import Anchor


@dataclass(slots=True)
class LogMessage:
    """One failure's text with all its occurrences."""

    text: str
    first_line: int
    matched: dict[str, bool] = field(default_factory=dict)
    """Ids of issues that make this text, and whether the text is their own (or one of several issues)."""
    count: int = 0
    last_line: int = 0
    anchors: set[Anchor] = field(default_factory=set)
    """Files and lines of its tracebacks."""
    around: list[list[str]] = field(default_factory=list)
    """Surrounding lines of the first occurrences."""
    by_version: dict[str, int] = field(default_factory=dict)
    of_server: bool = False
    """Whether a frame, a log line or an error payload of the server has it."""
    cut: bool = False
    """Whether the text breaks off: `matched` are issues whose messages begin like it."""
    without_error: bool = False
    """Whether it is a traceback that breaks off before its error."""


class Match(NamedTuple):
    """The part of a line that issues make, and those issues; true for those whose own text it is."""

    text: str
    issues: tuple[tuple[str, bool], ...]
