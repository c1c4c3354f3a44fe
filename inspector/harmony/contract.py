"""What a client should get for a transcript: vLLM's contract, from token ids alone.

Analysis without recipient goes to reasoning; final, and commentary without recipient (a preamble),
to content; `functions.*` recipients on any channel to tool calls, in order. For anything else
(python, browser, container, an unknown channel, a role that is not the assistant) no field is
promised.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from inspector.deltas import CONTENT, REASONING, tool_arguments
from inspector.harmony.text import text_of
from inspector.harmony.transcript import Message, Transcript
from inspector.harmony.vocab import Marker

__all__ = ["Expected", "ExpectedCall", "Segment", "expect"]

_FUNCTIONS: Final = "functions."
_CONSTRAIN: Final = Marker.CONSTRAIN.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The body of one message, or a refused run, and the field that should deliver it."""

    start: int
    """First token of the text."""
    end: int
    field: str | None
    """None when no field is promised."""
    message: int | None
    """Index of the message in the transcript; None for a refused run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCall:
    """One tool call."""

    name: str
    segment: Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Segments in token order, and the tool calls among them."""

    segments: tuple[Segment, ...]
    calls: tuple[ExpectedCall, ...]

    def text(self, field: str, ids: Sequence[int]) -> str:
        """Generated text of one field."""
        return "".join(text_of(ids[s.start : s.end]) for s in self.segments if s.field == field)


def expect(transcript: Transcript) -> Expected:
    """Where each body of a transcript should arrive."""
    segments: list[Segment] = []
    calls: list[ExpectedCall] = []
    for number, message in enumerate(transcript.messages):
        if not message.in_body:
            continue
        field = _field(message)
        recipient = message.header.recipient or ""
        if field is None and message.header.role == "assistant" and recipient.startswith(_FUNCTIONS):
            field = tool_arguments(len(calls))
        segment = Segment(start=message.body, end=message.body_end, field=field, message=number)
        segments.append(segment)
        if field is not None and field not in {REASONING, CONTENT}:
            calls.append(ExpectedCall(name=recipient.removeprefix(_FUNCTIONS), segment=segment))
    segments.extend(
        Segment(start=max(refusal.at, 0), end=refusal.end, field=None, message=None)
        for refusal in transcript.refusals
    )
    segments.sort(key=lambda segment: segment.start)
    return Expected(segments=tuple(segments), calls=tuple(calls))


def _field(message: Message) -> str | None:
    header = message.header
    if header.role != "assistant":
        return None
    # `<|channel|>final <|constrain|>json` names a content type; the Harmony library reads a recipient of it.
    answer_as = header.channel == "final" and (header.recipient or "").startswith(_CONSTRAIN)
    if header.recipient is not None and not answer_as:
        return None
    match header.channel:
        case "analysis":
            return REASONING
        case "final" | "commentary":
            return CONTENT
        case _:
            return None
