"""The values that a comparison is made of."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from inspector.analysis.audit import Severity
from inspector.analysis.audit.verdict import Level
from inspector.analysis.metrics import Figures
from inspector.analysis.prompt import FirstDifference, first_difference, prompt_ids
from inspector.inspection.compare.joining import JoinedBy
from inspector.inspection.compare.matching import FindingPairs
from inspector.inspection.compare.passing import Passing, PassingOutcome
from inspector.inspection.compare.sequences import Counts, Sides
from inspector.inspection.compare.settings import Setting
from inspector.inspection.compare.texts import FieldPair
from inspector.inspection.inspection import Inspection


class Outcome(StrEnum):
    """The result of a comparison."""

    SAME = "same"
    DELIVERY = "same tokens, different delivery"
    TOKENS = "different tokens"
    UNKNOWN = "cannot be told"

    @property
    def words(self) -> str:
        """What users read; the value is what `--json` contains."""
        return "cannot be determined" if self is Outcome.UNKNOWN else str(self)


class Divergence(NamedTuple):
    """The first token that is not the same; both sides agree on all tokens before it."""

    choice: int
    token: int
    event: int | None
    """Event of the token on the left; on the right when the left stream has ended there."""
    right_event: int | None


class Apart(NamedTuple):
    """Equal tokens, as left indexes, that the two servers delivered differently."""

    start: int
    end: int
    right_start: int
    left_field: str | None
    """Field that the left server delivered them in; None when none did."""
    left_state: str
    right_field: str | None
    right_state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceComparison:
    """One completion on both sides."""

    index: int
    tokens: Sides | None
    """None when a side's token IDs are unknown."""
    apart: tuple[Apart, ...]
    generated: tuple[FieldPair, ...]
    """From token IDs, or without them from the server's final texts."""
    delivered: tuple[FieldPair, ...]
    divergence: Divergence | None

    @property
    def same_generated(self) -> bool | None:
        """By token where both sides have IDs, else by the final texts; None when a side is unknown."""
        if self.tokens is not None:
            return self.tokens.counts.differing == 0
        equal = [pair.equal for pair in self.generated]
        if not equal or None in equal:
            return None
        return all(equal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A comparison of two captures; left is the reference."""

    left: Inspection
    right: Inspection
    choices: tuple[ChoiceComparison, ...]
    findings: FindingPairs
    settings: tuple[Setting, ...]
    """Only those that differ."""
    timing: tuple[Figures, Figures]
    outcome: Outcome
    sentence: str
    why: str
    joined_by: JoinedBy | None = None
    """By what both are known to be one response, one behind a gateway and one before it; None for two."""
    passing: Passing | None = None
    """What the gateway made of it."""
    server_side: Inspection | None = None
    """The one that was recorded between gateway and server."""

    @property
    def level(self) -> Level:
        """How bad: an error when a server alone is at fault, a warning when the sides differ otherwise."""
        if self.passing is not None and self.server_side is not None:
            passed_on = self.passing.outcome is PassingOutcome.SAME
            return self.server_side.verdict.level if passed_on else Level.ERROR
        if self.outcome is Outcome.UNKNOWN:
            return Level.UNKNOWN
        if self.outcome is Outcome.DELIVERY and (self.findings.errors_left or self.findings.errors_right):
            return Level.ERROR
        shared = any(finding.severity is Severity.ERROR for finding, _ in self.findings.both)
        return Level.CLEAN if self.outcome is Outcome.SAME and not shared else Level.WARNING

    @property
    def choice(self) -> ChoiceComparison:
        """The first choice."""
        return self.choices[0]

    @property
    def counts(self) -> Counts | None:
        """Tokens per lane over all choices; None when a choice lacks IDs on a side."""
        parts = [choice.tokens.counts for choice in self.choices if choice.tokens is not None]
        if len(parts) < len(self.choices):
            return None
        return Counts(*(sum(column) for column in zip(*parts, strict=True)))

    @property
    def prompt(self) -> FirstDifference | None:
        """Where the prompts part; None when they are the same, or a side's is unknown."""
        left, right = prompt_ids(self.left.reading), prompt_ids(self.right.reading)
        return None if left is None or right is None else first_difference(left.ids, right.ids)

    @property
    def divergence(self) -> Divergence | None:
        """The first divergence of the first choice that has one."""
        return next((choice.divergence for choice in self.choices if choice.divergence), None)

    @property
    def same_delivered(self) -> bool:
        """True when no field of any choice has another text; bare token lists deliver nothing to compare."""
        return all(pair.equal is not False for choice in self.choices for pair in choice.delivered)

    @property
    def same(self) -> bool:
        """True when neither tokens, as far as known, nor deliveries nor findings differ.

        Of one response, when the gateway passed it on: with fewer token IDs there are other findings.
        """
        if self.passing is not None:
            return self.passing.outcome is PassingOutcome.SAME
        generated = all(choice.same_generated is not False for choice in self.choices)
        return generated and self.same_delivered and self.findings.equal
