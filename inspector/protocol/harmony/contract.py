"""What a client should get for a transcript, by the contract of its server, from token IDs alone.

The usual contract, which vLLM's Python front end keeps:

Analysis without recipient goes to reasoning; final, and commentary without recipient (a preamble),
to content; `functions.*` recipients on any channel to tool calls, in order. For anything else
(python, browser, container, an unknown channel, a role that is not the assistant) no field is
defined.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from inspector.capture.deltas import CONTENT, REASONING, Texts, ToolText, tool_arguments
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.transcript import Message, Transcript
from inspector.protocol.harmony.vocab import Marker

FUNCTIONS: Final = "functions."
"""Prefix of the recipients that are functions of the request."""
_CONSTRAIN: Final = Marker.CONSTRAIN.text


STANDARD_FIELDS: Final[Mapping[str, str]] = {
    "analysis": REASONING,
    "commentary": CONTENT,
    "final": CONTENT,
}
"""Field of each channel, for messages without a recipient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """Which channel a server delivers in which field, and what it adds."""

    fields: Mapping[str, str] = field(default_factory=lambda: STANDARD_FIELDS)
    """Field of each channel, for messages without a recipient; other channels have none."""
    separator: str = ""
    """What the server puts between two messages that it delivers in one field."""
    ends_in_no_text: frozenset[int] = frozenset()
    """Tokens that are text within a body, but not as the last token of the response."""


STANDARD: Final = Contract()
"""The usual contract."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The body of one message, or a rejected run, and the field that should deliver it."""

    start: int
    """First token of the text."""
    end: int
    field: str | None
    """None where no field is defined."""
    message: int | None
    """Index of the message in the transcript; None for a rejected run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCall:
    """One tool call."""

    name: str
    segment: Segment
    message: int
    """Index of the message in the transcript."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Segments in token order, and the tool calls among them."""

    segments: tuple[Segment, ...]
    calls: tuple[ExpectedCall, ...]
    separator: str = ""
    """What the server may put between two texts of one field."""

    def texts(self, field: str, ids: Sequence[int]) -> list[str]:
        """Generated texts of one field, one for each of its messages that has any."""
        texts = (text_of(ids[s.start : s.end]) for s in self.segments if s.field == field)
        return [text for text in texts if text]

    def text(self, field: str, ids: Sequence[int]) -> str:
        """Generated text of one field."""
        return "".join(self.texts(field, ids))

    def generated(self, ids: Sequence[int]) -> Texts:
        """The text of each field."""
        calls = ((call.name, call.segment) for call in self.calls)
        return Texts(
            content=self.text(CONTENT, ids),
            reasoning=self.text(REASONING, ids),
            tool_calls=tuple(ToolText(name, text_of(ids[s.start : s.end])) for name, s in calls),
        )

    def gaps(self, field: str, ids: Sequence[int]) -> list[tuple[int, int]]:
        """Where a separator may be sent: at the end of a message, and before the next text of the field."""
        own = [segment for segment in self.segments if segment.field == field]
        return [
            (before.end, segment.start)
            for before, segment in pairwise(own)
            if text_of(ids[segment.start : segment.end])
        ]


def expect(transcript: Transcript, contract: Contract = STANDARD, *, last_id: int | None = None) -> Expected:
    """Where each body of a transcript should arrive; `last_id` is its last token."""
    ends_in_no_text = last_id in contract.ends_in_no_text
    segments: list[Segment] = []
    calls: list[ExpectedCall] = []
    for number, message in enumerate(transcript.messages):
        if not message.in_body:
            continue
        field = _field(message, contract)
        recipient = message.header.recipient or ""
        if field is None and _calls_function(message, contract):
            field = tool_arguments(len(calls))
        end = message.body_end
        if ends_in_no_text and message.body < end == transcript.count:
            end -= 1
        segment = Segment(start=message.body, end=end, field=field, message=number)
        segments.append(segment)
        if field is not None and field not in {REASONING, CONTENT}:
            calls.append(
                ExpectedCall(name=recipient.removeprefix(FUNCTIONS), segment=segment, message=number)
            )
    segments.extend(
        Segment(start=max(rejected_run.at, 0), end=rejected_run.end, field=None, message=None)
        for rejected_run in transcript.rejected_runs
    )
    segments.sort(key=lambda segment: segment.start)
    return Expected(segments=tuple(segments), calls=tuple(calls), separator=contract.separator)


def _calls_function(message: Message, contract: Contract) -> bool:
    header = message.header
    named = header.channel is None or header.channel in contract.fields
    return named and header.role == "assistant" and (header.recipient or "").startswith(FUNCTIONS)


def _field(message: Message, contract: Contract) -> str | None:
    header = message.header
    if header.role != "assistant":
        return None
    # `<|channel|>final <|constrain|>json` has a content type, which the Harmony library reads as a recipient.
    is_content_type = header.channel == "final" and (header.recipient or "").startswith(_CONSTRAIN)
    if header.recipient is not None and not is_content_type:
        return None
    return contract.fields.get(header.channel or "")
