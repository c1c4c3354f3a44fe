"""What was found in a response, as `audit`, its JSON, both reports and the card of a page print it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from inspector.analysis.audit import FieldTexts
from inspector.analysis.audit.verdict import Level
from inspector.analysis.event_schema import SchemaViolation, schema_violations, violations_sentence
from inspector.analysis.metrics import Figures, figures
from inspector.analysis.prompt import Prompt, PromptSeverity, difference_sentence, prompt_of
from inspector.analysis.reading import ChoiceReading, Evidence
from inspector.capture.deltas import is_tool_name
from inspector.capture.formats import count
from inspector.inspection.inspection import Examined, Inspection, of_choice
from inspector.issues import Alternative
from inspector.views.lane_labels import lane_labels
from inspector.views.summary import NOTHING, Fix, fixes, headline


class TokenCount(NamedTuple):
    """How many tokens a choice has."""

    amount: int | None
    source: str = ""
    """Who counted, where no token ID says it."""

    @property
    def words(self) -> str:
        """The number in words."""
        return "token count unknown" if self.amount is None else count(self.amount, "token") + self.source


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRow(FieldTexts):
    """A field with its two texts, under the name that the picture gives it."""

    label: str
    evidence: Evidence


@dataclass(frozen=True)
class AuditResult:
    """What was found in one choice of a response; what only one interface prints is in `inspection`."""

    inspection: Inspection
    number: int = 0
    """The place of the choice among those of the response."""
    client: str | None = None
    """What an SDK made of the response, in a sentence, if one was asked."""
    apart: bool = False
    """Whether the verdict is that of the choice, not that of all."""

    @property
    def name(self) -> str:
        """What the capture is called."""
        return self.inspection.name

    @property
    def choice(self) -> ChoiceReading:
        """The choice."""
        return self.inspection.reading.choices[self.number]

    @cached_property
    def examined(self) -> Examined:
        """What the verdict is about."""
        return of_choice(self.inspection, self.choice) if self.apart else self.inspection

    @property
    def level(self) -> Level:
        """How bad it is."""
        return self.examined.verdict.level

    @cached_property
    def fields(self) -> Sequence[FieldRow]:
        """Every field with a text, generated or delivered."""
        texts = self.inspection.fields(self.choice)
        calls = [row.generated or row.delivered or "" for row in texts if is_tool_name(row.field)]
        labels = lane_labels(self.choice, [row.field for row in texts], calls=calls)
        return [
            FieldRow(
                field=row.field,
                generated=row.generated,
                delivered=row.delivered,
                state=row.state,
                label=label,
                evidence=self.choice.evidence,
            )
            for row, label in zip(texts, labels, strict=True)
        ]

    @cached_property
    def _got(self) -> str | None:
        return headline(self.examined, self.choice, self.fields)

    @property
    def headline(self) -> str:
        """What the client got, or did not get; the verdict's sentence where there is no more to say."""
        return self.examined.verdict.sentence if self._got is None else self._got

    @property
    def silent(self) -> bool:
        """Whether the client got nothing and was not told: certain, even where the cause is only likely."""
        return self._got == NOTHING

    @property
    def headline_with_prompt(self) -> str:
        """The headline; that of a clean response names the prompt's warnings, which are listed below it."""
        if self.level is not Level.CLEAN or not self.prompt_warnings:
            return self.headline
        return f"{self.headline} The prompt has {count(len(self.prompt_warnings), 'warning')}, see below."

    @property
    def fault(self) -> str:
        """Whose fault it is, what was done, and what that was checked against."""
        verdict = self.examined.verdict
        if self._got is None or self.level is Level.CLEAN:
            return verdict.why
        return f"{verdict.blame} {verdict.sentence} {self._reason}".strip()

    @property
    def proof(self) -> str:
        """The end of `fault` that says how that is known; empty where nothing is wrong or nobody blamed."""
        verdict = self.examined.verdict
        return self._reason if verdict.blame and self.fault != verdict.why else ""

    @property
    def _reason(self) -> str:
        verdict = self.examined.verdict
        return verdict.why.removeprefix(verdict.blame).lstrip()

    @property
    def fixes(self) -> Sequence[Fix]:
        """What to do, with links; empty where nothing is known or needed."""
        return fixes(self.examined)

    @property
    def alternatives(self) -> Sequence[Alternative]:
        """Causes that look the same as the first one."""
        return () if self.examined.cause is None else self.examined.cause.alternatives

    @cached_property
    def tokens(self) -> TokenCount:
        """How many tokens the choice has, and who says so."""
        if self.choice.has_ids:
            return TokenCount(len(self.choice.tokens))
        if self.choice.rebuilt is not None:
            return TokenCount(len(self.choice.rebuilt.tokens), " reconstructed")
        return TokenCount(self.inspection.reading.stream.counted, " by the server's count")

    @cached_property
    def figures(self) -> Figures:
        """The metrics of the choice."""
        return figures(self.inspection.reading, self.choice)

    @cached_property
    def prompt(self) -> Prompt | None:
        """The prompt, beside what the request asks for; None where its tokens are unknown."""
        return prompt_of(self.inspection.reading)

    @property
    def prompt_warnings(self) -> Sequence[str]:
        """The warnings about the prompt, in sentences."""
        differences = () if self.prompt is None else self.prompt.differences
        return [
            difference_sentence(difference)
            for difference in differences
            if difference.severity is PromptSeverity.WARNING
        ]

    @cached_property
    def violations(self) -> Sequence[SchemaViolation]:
        """Where the events break the published schema."""
        return schema_violations(self.inspection.capture)

    @property
    def readable(self) -> str | None:
        """What a client may fail on, or what the one that was asked made of the response."""
        return violations_sentence(self.violations) if self.client is None else self.client
