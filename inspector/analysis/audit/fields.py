"""Generated and delivered text of each field, and whether their difference is a fault.

The verdict and the field table both read this, so that one is never green while the other is red. A text may
differ and be right: a completion leaves out special tokens, a character that was cut in half is not sent, and
text that has no API field of its own may arrive in another one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

from inspector.analysis.alignment import same_when_joined
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import OF_DELIVERY, Code, Kind, Severity
from inspector.analysis.reading import ChoiceReading, Reading
from inspector.capture.deltas import tool_index, tool_name
from inspector.protocol.harmony.markup import parsed
from inspector.protocol.harmony.text import text_of

_HALF: Final = "\ufffd"


class FieldState(StrEnum):
    """What the audit says of a field's two texts."""

    EQUAL = "equal"
    NO_FIELD = "text without an API field"
    """The field also has generated text for which the API has no field. Nothing was lost."""
    ADDED = "separator added by the server"
    """The server put something between two messages of the field. Nothing was lost."""
    REWRITTEN = "same text in another form"
    """An unstreamed response: messages joined by line feeds, or the JSON of arguments reformatted."""
    ITEMS_DIFFER = "items of stream and final object differ"
    """Responses: the one has an item for the text that the other lacks. No text was lost."""
    LEFT_OUT = "text left out on purpose"
    """Special tokens, half a character or a stop string, which a server does not send as text."""
    DIFFERENT = "different"
    UNKNOWN = "unknown"

    @property
    def equal(self) -> bool | None:
        """Whether the delivery has no fault; None if that is unknown."""
        return None if self is FieldState.UNKNOWN else self is not FieldState.DIFFERENT

    @property
    def note(self) -> str:
        """Why texts that differ are right; empty where they are equal, wrong or unknown."""
        match self:
            case FieldState.NO_FIELD:
                return "complete, with text that has no API field"
            case FieldState.ADDED:
                return "complete, with separators that the server added"
            case FieldState.REWRITTEN:
                return "complete, in another form because the response is not streamed"
            case FieldState.ITEMS_DIFFER:
                return "complete; only the items of the final object differ"
            case FieldState.LEFT_OUT:
                return "complete, without what is not sent as text"
            case FieldState.EQUAL | FieldState.DIFFERENT | FieldState.UNKNOWN:
                return ""
            case _:
                assert_never(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldTexts:
    """One field with its two texts."""

    field: str
    generated: str | None
    """None where it is unknown."""
    delivered: str | None
    """None where the capture has no delivered side (a list of token IDs)."""
    state: FieldState


def field_texts(
    reading: Reading, choice: ChoiceReading, findings: Sequence[Finding], *, ids_missing: bool
) -> list[FieldTexts]:
    """Every field of a choice that has text on either side. `findings` are those of the audit.

    Without token ids `generated` is the server's final text, or what a transcript in a delivered text has.
    """
    delivered = choice.delivered().by_field()
    generated: dict[str, str] = {}
    if (side := choice.generated()) is not None:
        generated = side.by_field()
        if "text" in delivered:
            generated = {"text": text_of(choice.tokens.ids)}
    elif choice.has_finals:
        generated = dict(choice.finals)
    of_choice = [finding for finding in findings if finding.choice == choice.index]
    by_text = _by_text(of_choice)
    generated |= by_text
    comparable = (choice.has_ids or choice.has_finals or bool(by_text)) and not reading.foreign
    wrong = {
        field
        for finding in of_choice
        if finding.kind in OF_DELIVERY
        for field in (finding.field, finding.delivered_in)
    }
    added = {finding.field for finding in of_choice if finding.kind is Kind.ADDED}
    # A call that is lost whole is one finding, about its arguments.
    wrong |= {tool_name(call) for field in wrong if field and (call := tool_index(field)) is not None}
    by_final = [finding.severity for finding in of_choice if finding.by_final] if choice.has_finals else []
    rows = []
    for field in {**generated, **delivered}:
        generated_text, delivered_text = generated.get(field, ""), delivered.get(field, "")
        if not generated_text and not delivered_text:
            continue
        if not comparable or not reading.spec.delivers:
            state = FieldState.UNKNOWN
        elif generated_text == delivered_text:
            state = FieldState.EQUAL
        elif field in wrong or Severity.ERROR in by_final or by_text:
            state = FieldState.DIFFERENT
        elif by_final:
            state = FieldState.ITEMS_DIFFER
        elif ids_missing:
            state = FieldState.UNKNOWN
        elif field in added:
            state = FieldState.ADDED
        elif reading.stream.bodies and same_when_joined(
            choice.expected.texts(field, choice.tokens.ids), delivered_text
        ):
            state = FieldState.REWRITTEN
        else:
            state = FieldState.LEFT_OUT if _shorter(generated_text, delivered_text) else FieldState.NO_FIELD
        rows.append(
            FieldTexts(
                field=field,
                generated=generated_text if comparable else None,
                delivered=delivered_text if reading.spec.delivers else None,
                state=state,
            )
        )
    return rows


def _by_text(findings: Sequence[Finding]) -> dict[str, str]:
    """What the model wrote for each field, according to a transcript that was delivered as text."""
    finding = next((finding for finding in findings if finding.code is Code.TRANSCRIPT_UNPARSED), None)
    messages = None if finding is None else parsed(finding.delivered or "")
    return {} if messages is None else messages.expected.generated(messages.ids).by_field()


def _shorter(made: str, got: str) -> bool:
    """Whether less arrived than was generated; a cut character may stand as U+FFFD on either side."""
    return len(got.rstrip(_HALF)) <= len(made.rstrip(_HALF))
