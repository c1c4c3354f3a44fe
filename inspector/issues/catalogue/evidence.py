"""The facts of a reading that forms are compared with, computed once: states, headers, events, losses."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Final, Self, TypeVar

from inspector.analysis.audit import Finding, FindingSide, Transmission, kinds_of, transmission_of
from inspector.analysis.audit.facts import Missing
from inspector.analysis.audit.kinds import Code, Kind
from inspector.analysis.reading import ChoiceReading, Evidence, Reading
from inspector.capture.capture import Endpoint, EventKind
from inspector.capture.deltas import CONTENT, tool_index
from inspector.issues.catalogue.schema import Edge
from inspector.protocol.harmony.parser_errors import RejectionReason, parser_error
from inspector.protocol.harmony.states import State, after
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.transcript import Message, RejectedRun
from inspector.protocol.harmony.violations import Violated, Violation, between, of_body, of_header
from inspector.protocol.harmony.vocab import Marker, encode
from inspector.protocol.wire.final_messages import filled
from inspector.protocol.wire.responses import item_texts

T = TypeVar("T")

_WHOLE: Final = frozenset({Kind.COUNT_MISMATCH, Kind.TRUNCATED, Kind.NO_ANSWER})
"""Kinds that are about the response as a whole."""
_REPORTED_AT_MOST: Final = 200
"""Messages of a final object that are looked at; each is compared with each finding, for each issue."""
_HEADER_TOKENS: Final = 400
_HEADER_TEXT: Final = 2000
"""What of a header is searched; a header that a model loops in shows its form there."""
_REJECTIONS: Final = kinds_of(FindingSide.MODEL)


class FormFacts:
    """A reading with the facts that forms are compared with, computed once."""

    def __init__(
        self,
        reading: Reading,
        choice: ChoiceReading | None = None,
        *,
        supposed: Sequence[int] | None = None,
        transmission: Transmission | None = None,
    ) -> None:
        self.reading = reading
        self.choice = choice or reading.choice
        self._supposed = supposed
        self.transmission = transmission_of(reading) if transmission is None else transmission
        rejection = self.transmission.rejection
        self.rejection = (
            rejection if rejection is not None and rejection.choice == self.choice.index else None
        )
        """What the server's parser rejected, by the error that it reported for this choice."""
        self.holes = self.transmission.ids_missing
        """True when ids are missing inside the stream: then no token form can be compared."""
        self.ids: Sequence[int] = self.choice.tokens.ids if self.choice.has_ids and not self.holes else ()
        """The ids sent, and the rejected one where nothing but it can be missing."""
        if supposed is not None:
            self.ids = supposed
        elif (
            self.rejected_at is not None
            and self.rejection is not None
            and self.rejection.token_id is not None
        ):
            self.ids = [*self.ids, self.rejection.token_id]
        self._parts: dict[int, dict[str, str]] = {}  # by first token of the message
        self._facts: dict[Callable[[Self], Any], Any] = {}

    def once(self, fact: Callable[[Self], T]) -> T:
        """A fact that few conditions need, computed when first asked for."""
        if fact not in self._facts:
            self._facts[fact] = fact(self)
        value: T = self._facts[fact]
        return value

    @cached_property
    def error_reported(self) -> bool:
        """True when the server reported an error to the client."""
        return bool(self.transmission.errors)

    @cached_property
    def rejected_at(self) -> int | None:
        """Index of the rejected token after the ids sent; None when other tokens are missing before it."""
        if self._supposed is not None:
            return len(self._supposed) - 1
        stopped = self.rejection
        if stopped is None or not stopped.sent or stopped.token_id is None or self.holes:
            return None
        # Words of a header may be missing before its end; between messages nothing but the token is rejected.
        next_unsent = stopped.missing is Missing.NONE or (
            stopped.missing is Missing.POSSIBLE and not stopped.error.reason.in_header
        )
        return stopped.sent if next_unsent else None

    def has_all(self, finding: Finding) -> bool:
        """True when the ids hold all that a finding is about."""
        return self.rejection is None or finding.kind not in _REJECTIONS or self.rejected_at is not None

    def has_several_causes(self, finding: Finding) -> bool:
        """Whether a finding is about delivered text alone, which model and server can both have made so."""
        if finding.code in {Code.ARGUMENTS_INVALID_ORIGIN_UNKNOWN, Code.TOKEN_IN_TEXT}:
            return True
        choice = self.choice
        has_evidence = choice.has_ids or choice.evidence is Evidence.FINAL_OBJECT_AND_COUNT
        return finding.kind is Kind.NO_ANSWER and not has_evidence

    @cached_property
    def supposed(self) -> tuple["FormFacts", ...]:
        """The rejected token after each stop token that can have closed the open message, usual one first.

        Empty if the rejected token and the tokens before it are known, or where a header was rejected.
        """
        stopped = self.rejection
        if (
            stopped is None
            or stopped.error.reason is not RejectionReason.NOT_START
            or stopped.token_id is None
        ):
            return ()
        if self._supposed is not None or self.rejected_at is not None:
            return ()
        last = stopped.token_id
        return tuple(
            FormFacts(
                self.reading,
                self.choice,
                supposed=(Marker.MESSAGE, stop, last),
                transmission=self.transmission,
            )
            for stop in self._stops()
        )

    def _stops(self) -> tuple[int, ...]:
        """How the message that was open can have ended, by its header or by the field of its text."""
        last = next(reversed(self.choice.transcript.messages), None) if self.ids else None
        header = None if last is None else last.header
        if last is not None and header is not None and (last.in_body or header.channel or header.recipient):
            called, final = header.recipient is not None, header.channel == "final"
        elif self.choice.deltas:
            field = self.choice.deltas[-1].field
            called, final = tool_index(field) is not None, field == CONTENT
        else:
            return (Marker.END, Marker.RETURN, Marker.CALL)
        if called:
            return (Marker.CALL, Marker.END)
        return (Marker.RETURN, Marker.END) if final else (Marker.END, Marker.RETURN)

    @cached_property
    def opened(self) -> bool:
        """True when the completion began with a header, so that a rejected one is not its first."""
        first = next(iter(self.choice.tokens.ids), None) if self.choice.has_ids else None
        return bool(self.choice.deltas) or first in (Marker.CHANNEL, Marker.START)

    @cached_property
    def reported_messages(self) -> list[dict[str, str]]:
        """The first messages of the final object of Responses, with `parts` and a name."""
        return [] if self.ids else list(islice(reported_messages(self.reading), _REPORTED_AT_MOST))

    def reported_at(self, finding: Finding) -> list[dict[str, str]]:
        """Those of them that a finding is about; all, for a finding about the response as a whole."""
        if finding.kind in _WHOLE:
            return self.reported_messages
        text = (finding.generated or finding.delivered or "").strip()
        if not text:
            return []
        # A gap may be laid a character off where texts begin and end alike: a rotation of the same text.
        return [
            message
            for message in self.reported_messages
            if text == message["name"]
            or (message["body"] and (text in message["body"] or message["body"] in text * 2))
        ]

    def repeated_at(self, finding: Finding) -> list[dict[str, str]]:
        """The messages whose text a finding says was delivered once more; such a finding has no tokens."""
        text = (finding.delivered or "").strip()
        if finding.kind is not Kind.DUPLICATED or not text or not self.ids:
            return []
        bodies = (self.parts(message) for message in self.choice.transcript.messages if message.in_body)
        return [parts for parts in bodies if parts["body"].strip() == text]

    @cached_property
    def streamed(self) -> bool:
        """True when the answer came as server-sent events."""
        return any(event.kind is EventKind.SSE for event in self.reading.events)

    @cached_property
    def states(self) -> list[State]:
        """The state before each token, and the one after the last."""
        rejected: set[int | None] = {rejected_run.at for rejected_run in self.choice.transcript.rejected_runs}
        rejected.add(self.rejected_at)
        # A completion that brings its own <|start|> begins between messages.
        state = State.BETWEEN if self.ids and self.ids[0] == Marker.START else State.ROLE
        states = [state]
        for place, token_id in enumerate(self.ids):
            state = State.REJECTED if place in rejected else after(state, token_id)
            states.append(state)
        if self.rejection is not None and self.rejected_at is None:
            states[-1] = State.REJECTED
        return states

    @cached_property
    def violations(self) -> list[tuple[int, int, Violated]]:
        """Violations of the grammar, with the first token and past the last of what each is about."""
        if not self.ids:
            return []
        ids, transcript = self.ids, self.choice.transcript
        rejected = None if self.rejection is None or self._supposed is not None else self.rejection.header
        spans: list[tuple[int, int, Violated | None]] = []
        if self._supposed is not None:
            return [(len(ids) - 2, len(ids), violated)] if (violated := between(ids, len(ids) - 1)) else []
        for rejected_run in transcript.rejected_runs:
            if rejected_run.at >= 0:
                spans.append(self._rejected_span(rejected_run))
        if (
            self.rejected_at is not None
            and self.rejection is not None
            and not self.rejection.error.reason.in_header
        ):
            at = self.rejected_at
            spans.append((max(at - 1, 0), at + 1, between(ids, at)))
        for message in transcript.messages:
            start, end = message.start, min(message.body, message.start + _HEADER_TOKENS)
            if rejected is not None and start == rejected[0] and self.rejection is not None:
                error, in_prompt = self.rejection.error, message.in_prompt
                spans.append((start, len(ids), of_header(ids, start, len(ids), error, in_prompt=in_prompt)))
            elif message.in_body:
                violated = of_header(ids, start, end, accepted=True, in_prompt=message.in_prompt)
                spans.append((start, message.body, violated))
                violated = of_body(ids, message.body, message.body_end)
                if violated is not None and violated.at is not None:
                    spans.append((violated.at, violated.at + 1, violated))
            else:
                violated = of_header(ids, start, end, in_prompt=message.in_prompt)
                spans.append((start, message.end, violated))
        return sorted(
            ((start, end, violated) for start, end, violated in spans if violated is not None),
            key=lambda span: span[:2],
        )

    def _rejected_span(self, rejected_run: RejectedRun) -> tuple[int, int, Violated | None]:
        if not rejected_run.in_header:
            return max(rejected_run.at - 1, 0), rejected_run.at + 1, between(self.ids, rejected_run.at)
        end = min(rejected_run.at + 1, rejected_run.start + _HEADER_TOKENS)
        error = parser_error(rejected_run.words)
        violated = of_header(self.ids, rejected_run.start, end, error, in_prompt=rejected_run.in_prompt)
        return rejected_run.start, rejected_run.at + 1, violated

    def reported_violation(self, message: Mapping[str, str]) -> Violation | None:
        """The violation in a header of the final object, as far as its recipient shows it."""
        recipient = message["recipient"][:_HEADER_TEXT]
        repeated = recipient.startswith(Marker.START.text)  # read where the role of the prompt was known
        before = "" if repeated else f"{Marker.START.text}assistant{Marker.CHANNEL.text}commentary "
        addressed = "" if recipient.startswith("<|") else "to="
        ids = encode(f"{before}{addressed}{recipient}{Marker.MESSAGE.text}")
        violated = of_header(ids, 0, len(ids), accepted=True, in_prompt=repeated)
        return None if violated is None else violated.violation

    def message_at(self, token: int | None) -> Message | None:
        """The message that a token belongs to."""
        number = self.message_number(token)
        return None if number is None else self.choice.transcript.messages[number]

    def message_number(self, token: int | None) -> int | None:
        """The place of that message among all."""
        if token is None:
            return None
        messages = self.choice.transcript.messages
        before = bisect_right(messages, token, key=lambda message: message.start) - 1
        return before if before >= 0 and token < messages[before].end else None

    def parts(self, message: Message) -> dict[str, str]:
        """Role, channel, recipient, content type, body, header and stop token of a message; '' for none."""
        if message.start in self._parts:
            return self._parts[message.start]
        header = message.header
        self._parts[message.start] = {
            "role": header.role or "",
            "channel": header.channel or "",
            "recipient": header.recipient or "",
            "content_type": header.content_type or "",
            "body": text_of(self.ids[message.body : message.body_end]),
            "name": "",
            "header": text_of(self.ids[message.start : min(message.body, message.start + _HEADER_TOKENS)]),
            "stop": text_of(self.ids[message.body_end : message.end]) if message.complete else "",
        }
        return self._parts[message.start]

    @cached_property
    def tokens_by_event(self) -> dict[int, list[int]]:
        """Tokens that came in each event."""
        by_event: dict[int, list[int]] = {}
        if self.ids:
            for place, event in enumerate(self.choice.tokens.events):
                if event >= 0:
                    by_event.setdefault(event, []).append(place)
        return by_event

    def framed_edges(self, message: Message) -> dict[Edge, Sequence[int]]:
        """The edges of a message's body where one event brought text and framing, with the event's tokens."""
        events = self.choice.tokens.events
        framing = {Edge.START: message.body - 1, Edge.END: message.body_end - 1}
        return {
            edge: self.tokens_by_event[events[at]]
            for edge, at in framing.items()
            if message.in_body and at >= 0 and at + 1 < len(events) and events[at] == events[at + 1] >= 0
        }

    def is_last(self, message: int | None) -> bool | None:
        """Whether no later message has text for the field of a message, by its place; None without text."""
        field = self._fields.get(message)
        return None if field is None else self._last_by_field[field] == message

    @cached_property
    def _fields(self) -> dict[int | None, str]:
        """The field of each message that has text."""
        segments = self.choice.expected.segments
        return {s.message: s.field for s in segments if s.field is not None and s.start < s.end}

    @cached_property
    def _last_by_field(self) -> dict[str, int | None]:
        return {field: message for message, field in self._fields.items()}


def reported_messages(reading: Reading) -> Iterator[dict[str, str]]:
    """The parts of each message; what is absent, as the tokens of header and stop, is ''.

    From `output_messages` (`enable_response_messages`) where they have roles, else from the items: an
    mcp_call's label is the recipient that the server read.
    """
    final_object = reading.stream.final_object
    if final_object is None or reading.header.endpoint is not Endpoint.RESPONSES:
        return
    reported = filled(_list(final_object.get("output_messages")), _list(final_object.get("output")))
    messages = [message for message in reported if isinstance(message.get("role"), str)]
    for message in messages:
        content = message.get("content")
        body = content if isinstance(content, str) else "".join(_text(part) for part in _list(content))
        yield _parts(message, body)
    if messages:
        return
    for item in _list(final_object.get("output")):
        match item.get("type"):
            case "mcp_call":
                label, name = str(item.get("server_label") or ""), str(item.get("name") or "")
                recipient = label if label == name or not name else f"{label}.{name}"
                yield _parts({"role": "assistant", "recipient": recipient}, str(item.get("arguments") or ""))
            case "function_call":
                recipient = f"functions.{item.get('name')}"
                header = {"role": "assistant", "channel": "commentary", "recipient": recipient}
                yield _parts(header, str(item.get("arguments") or ""), str(item.get("name")))
            case _:
                pass


def final_texts(reading: Reading, choice: ChoiceReading) -> Iterator[tuple[str, str, frozenset[int]]]:
    """Field, final text and the places in it where a message ends."""
    ends: dict[str, list[int]] = {}
    for field, text in item_texts((reading.stream.final_object or {}).get("output")):
        before = ends.setdefault(field, [0])
        before.append(before[-1] + len(text))
    for field, final in choice.finals.items():
        if not field.endswith(".name"):
            yield field, final, frozenset(ends.get(field, ()))


def _parts(message: dict[str, Any], body: str, name: str = "") -> dict[str, str]:
    parts = {part: str(message.get(part) or "") for part in ("role", "channel", "recipient", "content_type")}
    called = parts["recipient"].removeprefix("functions.")
    name = name or str(message.get("name") or "") or called
    return {**parts, "body": body, "name": name, "header": "", "stop": ""}


def _text(part: dict[str, Any]) -> str:
    text = part.get("text")
    return text if isinstance(text, str) else ""


def _list(value: object) -> list[dict[str, Any]]:
    return [element for element in value if isinstance(element, dict)] if isinstance(value, list) else []
