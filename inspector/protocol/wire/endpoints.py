"""The table of endpoints: all that distinguishes one from another, apart from its reader and request body.

A new endpoint is a member of `Endpoint`, a reader, a row here and a branch in `client.request`. Everything
else asks the row: see "What a change touches" in docs/architecture.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Protocol

from inspector.capture.capture import Endpoint, Event
from inspector.protocol.wire.chat import ChatReader
from inspector.protocol.wire.completions import CompletionsReader
from inspector.protocol.wire.event_checks import ChatCheck, EventCheck, MessagesCheck, ResponsesCheck
from inspector.protocol.wire.ids import IdsReader
from inspector.protocol.wire.messages import START, STOP, MessagesReader
from inspector.protocol.wire.responses import CREATED, ResponsesReader
from inspector.protocol.wire.responses import TERMINAL_TYPES as RESPONSES_ENDS
from inspector.protocol.wire.stream import Stream

DONE: Final = "[DONE]"
"""The last event of a chat or completions stream."""

_V1: Final = "/v1"


class WireReader(Protocol):
    """Reads events of one endpoint into a `Stream`."""

    def receive(self, events: Sequence[Event]) -> None:
        """Read some more events."""


class Delivery(Enum):
    """How the server delivers the tokens."""

    PARSED = "parsed"
    """Fields: reasoning, content, tool calls."""
    RAW = "raw"
    """The text of all tokens, unparsed."""
    NONE = "none"
    """Nothing was delivered, or it was not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSpec:
    """One row of the table."""

    endpoint: Endpoint
    label: str
    """Its name on screens."""
    reader: Callable[[Stream], WireReader]
    delivery: Delivery
    path: str = ""
    """Path below `/v1`; empty where there is no request."""
    common_path: bool = False
    """True when other APIs have that path too, so that it means this endpoint only with `/v1` before it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers that a request must have."""
    objects: tuple[str, ...] = ()
    """Values of `object` that only its payloads have; the last is that of an unstreamed response."""
    body_members: Mapping[str, str] = field(default_factory=dict)
    """Members of an unstreamed response without `object`; no other object has them and `stop_reason`."""
    generated_key: str = "choices"
    """The member of an unstreamed response that has what was generated."""
    event_prefixes: tuple[str, ...] = ()
    """What the `type` of each of its events begins with; empty where events have no type."""
    first_type: str = ""
    """Type of the event that begins a response; empty where events have no type."""
    envelope: str = ""
    """Member of that event that has the response's ID and model; empty where each event has them itself."""
    event_check: type[EventCheck] | None = None
    """What its events must be by its schema; None where no client depends on that."""
    named: bool = False
    """True when each event must have its type as the name of the event, too: clients skip one without."""
    numbered: bool = False
    """True when each event has a `sequence_number`."""
    terminal_types: frozenset[str] = frozenset()
    """Types of the events that end a response; empty where `[DONE]` does."""
    end: str = DONE
    """The usual end of a stream, in a sentence."""
    final_object: bool = False
    """True when the stream ends with an object that repeats all texts."""
    carries_ids: bool = False
    """True when its stream can carry token IDs."""
    evidence_key: str = ""
    """Request key for token IDs, or the next best evidence; empty where there is none."""
    resumable: bool = False
    """True when a broken stream can be resumed with GET /{id}."""
    made_from: Endpoint | None = None
    """The endpoint from whose responses a server makes these, so that it loses what that one loses."""
    sdk: str = "openai"
    """The official SDK that reads its responses, by the name of its package."""
    least: Mapping[str, Any] = field(default_factory=dict)
    """The smallest request, besides `model` and `stream`."""
    elsewhere: tuple[str, ...] = ()
    """Request keys for messages and tools that only the server has, or has in another form."""
    no_arguments: str = ""
    """What a client has as the arguments of a call for which no text arrives."""
    no_ids: str = ""
    """How to get evidence where the stream carries no IDs, one sentence."""

    def is_body(self, payload: Mapping[str, object]) -> bool:
        """True for an unstreamed response; false on completions, whose chunks look like one."""
        if self.body_members:
            return "stop_reason" in payload and self.body_members.items() <= payload.items()
        chunks_differ = len(self.objects) > 1 or bool(self.event_prefixes)
        return chunks_differ and payload.get("object") == self.objects[-1]

    @property
    def full_path(self) -> str:
        """The path from the server's root, such as `/v1/responses`."""
        return _V1 + self.path

    @property
    def has_issues_of(self) -> Sequence[Endpoint]:
        """Whose known issues it has: its own, and those of the endpoint whose responses it is made from."""
        return (self.endpoint,) if self.made_from is None else (self.endpoint, self.made_from)

    @property
    def known_by(self) -> str:
        """How a path ends that leads to it, whatever is before it."""
        return self.full_path if self.common_path else self.path

    @property
    def parsed(self) -> bool:
        """True when the server parses Harmony and delivers fields."""
        return self.delivery is Delivery.PARSED

    @property
    def raw(self) -> bool:
        """True when the text of all tokens is delivered unparsed."""
        return self.delivery is Delivery.RAW

    @property
    def delivers(self) -> bool:
        """False for bare token IDs."""
        return self.delivery is not Delivery.NONE

    @property
    def deltas_only(self) -> bool:
        """True when fields come as deltas alone, with no final object to compare them with."""
        return self.parsed and not self.final_object


_SPECS: Final = {
    spec.endpoint: spec
    for spec in (
        EndpointSpec(
            endpoint=Endpoint.CHAT,
            label="chat completions",
            reader=ChatReader,
            delivery=Delivery.PARSED,
            path="/chat/completions",
            objects=("chat.completion.chunk", "chat.completion"),
            event_check=ChatCheck,
            carries_ids=True,
            evidence_key="return_token_ids",
            least={"messages": [{"role": "user", "content": "again"}]},
        ),
        EndpointSpec(
            endpoint=Endpoint.RESPONSES,
            label="responses",
            reader=ResponsesReader,
            delivery=Delivery.PARSED,
            path="/responses",
            objects=("response",),
            generated_key="output",
            event_prefixes=("response.",),
            first_type=CREATED,
            envelope="response",
            event_check=ResponsesCheck,
            numbered=True,
            terminal_types=RESPONSES_ENDS,
            end="response.completed",
            final_object=True,
            evidence_key="enable_response_messages",
            resumable=True,
            least={"input": "again"},
            elsewhere=("previous_response_id", "conversation", "prompt", "previous_input_messages"),
            no_ids="Responses carries no token IDs: keep the stream with its final object to find out.",
        ),
        EndpointSpec(
            endpoint=Endpoint.COMPLETIONS,
            label="completions",
            reader=CompletionsReader,
            delivery=Delivery.RAW,
            path="/completions",
            objects=("text_completion",),
            carries_ids=True,
            evidence_key="return_token_ids",
            least={"prompt": "again"},
        ),
        EndpointSpec(
            endpoint=Endpoint.MESSAGES,
            label="messages",
            reader=MessagesReader,
            delivery=Delivery.PARSED,
            path="/messages",
            common_path=True,
            headers={"anthropic-version": "2023-06-01"},
            body_members={"type": "message", "role": "assistant"},
            generated_key="content",
            event_prefixes=(START, "message_delta", STOP, "content_block_"),
            first_type=START,
            envelope="message",
            event_check=MessagesCheck,
            named=True,
            terminal_types=frozenset({STOP}),
            made_from=Endpoint.CHAT,
            sdk="anthropic",
            end=STOP,
            least={"messages": [{"role": "user", "content": "again"}], "max_tokens": 4096},
            no_arguments="{}",
            no_ids="Messages carries no token IDs: send the same prompt to chat to find out.",
        ),
        EndpointSpec(
            endpoint=Endpoint.TOKENS,
            label="token IDs only",
            reader=IdsReader,
            delivery=Delivery.NONE,
            no_ids="The file holds no token IDs.",
        ),
    )
}

ASKED: Final = tuple(spec for spec in _SPECS.values() if spec.path)
"""Rows of the endpoints of servers, in the order of choices on screens."""

TERMINAL_TYPES: Final = frozenset[str]().union(*(spec.terminal_types for spec in ASKED))
"""Types of events that end a response, of all endpoints."""

_BY_PATH: Final = sorted(ASKED, key=lambda spec: -len(spec.path))
"""The longest first: `/chat/completions` ends like `/completions`."""
_BY_OBJECT: Final = {name: spec.endpoint for spec in ASKED for name in spec.objects}


def asked_endpoints() -> list[Endpoint]:
    """Endpoints of servers, in the order of choices on screens."""
    return [spec.endpoint for spec in ASKED]


def envelope_of(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """What has the ID and the model of a response: a member of an event, or the payload itself."""
    members = (payload.get(spec.envelope) for spec in ASKED if spec.envelope)
    return next((member for member in members if isinstance(member, dict)), payload)


def spec_of(endpoint: Endpoint) -> EndpointSpec:
    """The row of an endpoint."""
    return _SPECS[endpoint]


def endpoint_of_path(path: str) -> Endpoint | None:
    """The endpoint of a URL or path; None for all others (models, files, ...)."""
    bare = path.partition("?")[0].rstrip("/")
    return next((spec.endpoint for spec in _BY_PATH if bare.endswith(spec.known_by)), None)


def endpoint_of_resumed(path: str) -> Endpoint | None:
    """The endpoint whose broken stream a GET of this path resumes; None for other paths."""
    folder, _, name = path.rpartition("/")
    resumable = (spec for spec in ASKED if spec.resumable)
    return next((spec.endpoint for spec in resumable if name and folder.endswith(spec.path)), None)


def _is_event(spec: EndpointSpec, kind: str, payload: Mapping[str, object]) -> bool:
    """Whether an event is of an endpoint; coding agents have events of the same type, with other messages."""
    response = payload.get(spec.envelope) if kind == spec.first_type else None
    other = isinstance(response, dict) and "id" not in response
    return kind.startswith(spec.event_prefixes) and not other


def is_typed_event(payload: Mapping[str, object]) -> bool:
    """True for an event of an endpoint whose events name their type, which is never a whole response."""
    kind = payload.get("type")
    return isinstance(kind, str) and any(_is_event(spec, kind, payload) for spec in ASKED)


def endpoint_of_payload(payload: object, name: str = "") -> Endpoint | None:
    """The endpoint that sends such a payload in an event of that name; None if it cannot be determined."""
    for spec in ASKED:
        if name.startswith(spec.event_prefixes):
            return spec.endpoint
    if not isinstance(payload, dict):
        return None
    kind, sent = payload.get("type"), payload.get("object")
    if isinstance(kind, str):
        for spec in ASKED:
            # An error of a numbered stream has no prefix of its own.
            numbered = kind == "error" and "sequence_number" in payload and spec.numbered
            body = bool(spec.body_members) and spec.is_body(payload)
            if numbered or body or _is_event(spec, kind, payload):
                return spec.endpoint
    return _BY_OBJECT.get(sent) if isinstance(sent, str) else None
