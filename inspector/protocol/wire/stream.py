"""What the readers of the endpoints fill: tokens and deltas by choice, and facts about the stream."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from msgspec import MsgspecError
from msgspec.json import Decoder

from inspector.capture.capture import Event, EventKind
from inspector.capture.deltas import Delta
from inspector.capture.tokens import Tokens

_decode: Final = Decoder().decode
"""Reads what it accepts as `json.loads` does, in a third of the time."""

_CHOICES_AT_MOST: Final = 1024
"""Each index makes a choice with a parser of its own, so a hostile response must not make many."""

_CHOICES_OF_A_REQUEST: Final = 2**14
"""The most choices that vLLM allows in a request; a higher index violates the protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerError:
    """An error that the server reported: inside the stream, or as the HTTP status."""

    event: int
    message: str
    type: str | None = None
    code: int | str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A violation of the protocol, `times` times between the events `event` and `last`."""

    key: str
    """The kind of violation, in one word."""
    event: int
    last: int
    times: int
    detail: str
    """One sentence on the first occurrence."""
    field: str | None = None


@dataclass(slots=True)
class StreamChoice:
    """One completion of the response."""

    index: int
    tokens: Tokens = field(default_factory=Tokens)
    """Sampled IDs that the stream carried (`token_ids`)."""
    logprob_tokens: Tokens = field(default_factory=Tokens)
    """IDs from logprob entries; weaker evidence, as servers omit entries."""
    logprobs_whole: bool = True
    """False when an entry does not give its ID: then none of them can be evidence."""
    empty_event: int | None = None
    """The first chunk, after the one with the role, that has no token IDs, no text and no finish reason."""
    begun: bool = False
    """Whether it has had a chunk of that kind."""
    deltas: list[Delta] = field(default_factory=list)
    finish_reason: str | None = None
    finish_event: int | None = None
    finals: dict[str, str] = field(default_factory=dict)
    """Whole texts by field that the server sent at the end, apart from deltas; Responses only."""
    item_finals: dict[str, str] = field(default_factory=dict)
    """The same from `.done` events, which come before the final object."""

    def empty_chunk(self, event: int) -> None:
        """Note a chunk without token IDs, text and finish reason; the first of a choice names the role."""
        if self.empty_event is None and (self.tokens.ids or self.deltas or self.begun):
            self.empty_event = event
        self.begun = True

    @property
    def has_gap(self) -> bool:
        """Whether there is such a chunk before the last token IDs, which servers with IDs never send."""
        return self.empty_event is not None and self.empty_event < max(self.tokens.events[-1:], default=-1)


class Extensions(NamedTuple):
    """What servers add to the responses that all send; a path is the names of nested members."""

    members: frozenset[str] = frozenset()
    """Members that name a server or a proxy by being there, and comments of a stream that do."""
    ids_at: tuple[tuple[str, ...], ...] = ()
    """Where a chat payload has token IDs of the first choice."""
    choice_ids_at: tuple[tuple[str, ...], ...] = ()
    """Where a choice has all its token IDs at once."""
    usage_at: tuple[tuple[str, ...], ...] = ()
    """Where a payload has its counts."""


NO_EXTENSIONS: Final = Extensions()


@dataclass(slots=True)
class Stream:
    """One response, as far as it has been read."""

    choices: dict[int, StreamChoice] = field(default_factory=dict)
    events: int = 0
    """Events received so far."""
    bodies: list[int] = field(default_factory=list)
    """Events that are an unstreamed body, as an error status brings."""
    errors: list[ServerError] = field(default_factory=list)
    notices: dict[str, Notice] = field(default_factory=dict)
    usage: Mapping[str, Any] | None = None
    prompt_ids: list[int] | None = None
    fingerprint: str | None = None
    model: str | None = None
    provider: str | None = None
    """The service behind a gateway, by the gateway's word."""
    extensions: Extensions = NO_EXTENSIONS
    """What the readers look for."""
    members: set[str] = field(default_factory=set)
    """Those of `extensions.members` that were in the response."""
    terminal_event: int | None = None
    """Event that ended the response by the protocol: `[DONE]`, `response.completed`, a whole body."""
    final_event: int | None = None
    """Event that brought the final object (Responses), whatever its status."""
    final_object: Mapping[str, Any] | None = None
    """The `response` of that event, verbatim."""
    final_status: str | None = None
    incomplete_reason: str | None = None
    unread_choices: bool = False
    """True when there were more choices than are read."""

    @property
    def counted(self) -> int | None:
        """Generated tokens by the server's count (`usage`); None without one."""
        usage = self.usage or {}
        return token_count(usage.get("completion_tokens", usage.get("output_tokens")))

    def typed_objects(self, events: Sequence[Event]) -> Iterator[tuple[int, EventKind, dict[str, Any]]]:
        """The JSON objects of more events, each with its number; an event that is not one is noted.

        For endpoints whose events name their type: some proxies add `[DONE]`, which ends no response there.
        """
        for index, event in enumerate(events, self.events):
            if event.kind is EventKind.COMMENT or event.data == "[DONE]":
                continue
            if event.kind is EventKind.BODY:
                self.bodies.append(index)
            payload = loads(event.data)
            if isinstance(payload, dict):
                yield index, event.kind, payload
            else:
                what = "an event" if event.kind is EventKind.SSE else "the body"
                self.notice("not_json", index, f"{what} is not a JSON object")
        self.events += len(events)

    def note_members(self, *values: object) -> None:
        """Note the members of objects that name a server; values of other types have none."""
        for value in values:
            if isinstance(value, dict):
                self.members.update(self.extensions.members.intersection(value))

    def choice_of(self, number: object, event: int) -> StreamChoice:
        """The choice that an event names; the first, and a notice, where the index is impossible."""
        if type(number) is int and _CHOICES_AT_MOST <= number < _CHOICES_OF_A_REQUEST:
            self.unread_choices = True
            return StreamChoice(number)
        if type(number) is not int or not 0 <= number < _CHOICES_AT_MOST:
            self.notice("choice_index", event, f"a choice has the index {brief(number)}")
            number = 0
        return self.choice(number)

    def choice(self, index: int) -> StreamChoice:
        """The choice of that index, created if it is new."""
        choice = self.choices.get(index)
        if choice is None:
            choice = self.choices[index] = StreamChoice(index)
        return choice

    def notice(self, key: str, event: int, detail: str, name: str | None = None) -> None:
        """Note a violation of the protocol; a repeated key only raises its count."""
        notice = self.notices.get(key)
        if notice is None:
            self.notices[key] = Notice(key=key, event=event, last=event, times=1, detail=detail, field=name)
        else:
            self.notices[key] = Notice(
                key=key,
                event=notice.event,
                last=event,
                times=notice.times + 1,
                detail=notice.detail,
                field=notice.field,
            )


def loads(text: str) -> Any:
    """Parse JSON; None if it is invalid, or nested deeper than Python can read."""
    try:
        return _decode(text)
    except (MsgspecError, ValueError, RecursionError):
        pass  # json.loads reads more: NaN, half surrogates
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def value_at(value: object, path: tuple[str, ...]) -> Any:
    """The value of nested members; None where one is not there."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def token_count(value: object) -> int | None:
    """A number of tokens; None for any other value."""
    return value if type(value) is int and value >= 0 else None


def token_ids(value: object) -> list[int]:
    """The ints of a list; empty for anything else."""
    if not isinstance(value, list):
        return []
    if len(value) == 1 and type(value[0]) is int:  # one token per event is the common stream
        return value
    return [item for item in value if type(item) is int]


def error_in(payload: object, event: int, status: int | None = None) -> ServerError | None:
    """The error of a payload, if it is one.

    vLLM sends `{"error": {"message", "type", "code"}}`, older versions the inner object itself with
    `"object": "error"`; FastAPI sends `{"detail": ...}` before vLLM's own code runs.
    """
    if not isinstance(payload, dict):
        return None
    inner = payload.get("error")
    if inner is None and (payload.get("object") == "error" or payload.get("type") == "error"):
        inner = payload
    if inner is None and status is not None and status >= 400:
        inner = payload if "message" in payload else {"message": payload.get("detail", payload)}
    if inner is None or inner is False:
        return None
    if not isinstance(inner, dict):
        return ServerError(event=event, message=_text(inner), code=status)
    kind = inner.get("type")
    code = inner.get("code", status)
    return ServerError(
        event=event,
        message=_text(inner.get("message", inner)),
        type=kind if isinstance(kind, str) else None,
        code=code if isinstance(code, int | str) else status,
    )


def brief(value: object) -> str:
    """A value from outside in a few characters, for a sentence."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return str(value)[:40]


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return brief(value)
