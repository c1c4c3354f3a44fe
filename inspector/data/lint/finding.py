"""What a check finds in one value, and the same with its row and column."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from inspector.analysis.audit.kinds import Severity
from inspector.capture.formats import number
from inspector.data.lint.rules import RULES, Rule


class Unit(StrEnum):
    """What a place counts."""

    CHARACTER = "character"
    TOKEN = "token"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """A breach of a rule in one value."""

    rule: Rule
    at: int | None = None
    """Token of the value, or character of the message's text; None for the whole."""
    message: int | None = None
    """Message, from 0; None outside messages."""
    excerpt: str = ""
    note: str = ""
    """What is particular about this case, one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """A breach of a rule with its place."""

    rule: Rule
    row: int
    """From 1."""
    column: str
    """Empty where the row itself cannot be read."""
    path: str
    """Where in the row the value is, with the places in lists: `choices[0].text`."""
    message: int | None
    unit: Unit | None
    at: int | None
    """From 0."""
    excerpt: str
    note: str

    @property
    def severity(self) -> Severity:
        """How bad the rule says it is."""
        return RULES[self.rule].severity

    @property
    def explanation(self) -> str:
        """What was found, in a sentence or two."""
        rule_words = RULES[self.rule].what
        return f"{rule_words} {self.note}" if self.note else rule_words

    @property
    def remedy(self) -> str:
        """What to change."""
        return RULES[self.rule].remedy

    @property
    def place(self) -> str:
        """Message, and character or token; empty for the whole value."""
        parts = [] if self.message is None else [f"message {number(self.message)}"]
        if self.at is not None:
            parts.append(f"{self.unit} {number(self.at)}")
        return ", ".join(parts)

    @property
    def as_row(self) -> dict[str, Any]:
        """All of it for `--json`."""
        return {
            "row": self.row,
            "column": self.column or None,
            "path": self.path or None,
            "message": self.message,
            "unit": None if self.unit is None else str(self.unit),
            "at": self.at,
            "rule": str(self.rule),
            "severity": str(self.severity),
            "explanation": self.explanation,
            "remedy": self.remedy,
            "excerpt": self.excerpt,
        }
