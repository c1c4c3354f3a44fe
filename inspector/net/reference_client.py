"""Whether the official Python SDK can read a recorded response: its own accumulators run over the events.

The SDK is the installed `openai`; the events reach it through an httpx transport, so no request leaves the
process. Its accumulators are `chat.completions.stream` and `responses.stream`, for a whole body `create`; it
has none for a stream of completions.

One of the SDK's own exceptions reports what happened: an error that the server sent, or the token limit. Any
other, such as an IndexError, means that the SDK cannot read the response. `responses.stream` makes an object
of `response.completed` alone: a response that ends with `response.incomplete` has none (openai 3.54).
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple, cast

import httpx
import openai

from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint, Event, EventKind
from inspector.capture.formats import clip
from inspector.protocol.wire.event_json import dumps

_ERROR_SHOWN: Final = 300
_REPORTS: Final = (
    *(openai.APIError, openai.LengthFinishReasonError),
    *(openai.ContentFilterFinishReasonError, httpx.HTTPError),
)
"""What the SDK raises to report what happened."""
_ANYWHERE: Final = "http://capture.invalid/v1"


class ClientOutcome(StrEnum):
    """How a client got on with a response."""

    READ = "read"
    """It has a final object, with the text that was delivered."""
    DIFFERENT = "different"
    """It has a final object that lacks or changes delivered text."""
    NO_OBJECT = "no final object"
    """It read all events, and makes no object of a response that ends as this one."""
    REPORTED = "reported"
    """It raised an exception that says what happened: the server's error, the token limit, a cut stream."""
    UNREADABLE = "unreadable"
    """It raised any other exception."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientReading:
    """What a client made of a response."""

    client: str
    """Name and version, such as `openai-python 3.54.0`."""
    outcome: ClientOutcome
    error: str = ""
    """Class and message of the exception; empty where there is a final object."""
    fields: tuple[str, ...] = ()
    """Fields of the final object whose text is not the delivered one."""

    @property
    def accepts(self) -> bool:
        """False where the client fails on the response, or has other text than was delivered."""
        return self.outcome not in {ClientOutcome.DIFFERENT, ClientOutcome.UNREADABLE}

    def row(self) -> dict[str, Any]:
        """The row of `audit --json`."""
        return {
            "client": self.client,
            "outcome": self.outcome.value,
            "accepts": self.accepts,
            "error": self.error or None,
            "fields": list(self.fields),
        }

    @property
    def sentence(self) -> str:
        """In words."""
        match self.outcome:
            case ClientOutcome.READ:
                return f"{self.client} reads it."
            case ClientOutcome.DIFFERENT:
                return f"{self.client} reads it, with other text in {', '.join(self.fields)}."
            case ClientOutcome.NO_OBJECT:
                return f"{self.client} reads its events and makes no final object of it: {self.error}."
            case ClientOutcome.REPORTED:
                return f"{self.client} reports: {self.error}."
            case ClientOutcome.UNREADABLE:
                return f"{self.client} cannot read it: {self.error}."


def python_reading(capture: Capture) -> ClientReading | None:
    """Read a response with the installed SDK; None where it has no accumulator for it.

    A response that is no success (HTTP 4xx, 5xx) has nothing to accumulate: None. The first choice is
    compared. Content never raises.
    """
    header = capture.header
    whole = any(event.kind is EventKind.BODY for event in capture.events)
    if (header.status or 200) >= 400 or (header.endpoint is Endpoint.COMPLETIONS and not whole):
        return None
    name = f"openai-python {openai.__version__}"
    with (
        httpx.Client(transport=httpx.MockTransport(lambda _: _response(capture, whole=whole))) as http,
        openai.OpenAI(base_url=_ANYWHERE, api_key="none", http_client=cast(Any, http), max_retries=0) as sdk,
    ):
        read_to_end = False
        try:
            if whole:
                answer = _body_answer(sdk, header.endpoint)
            else:
                with _stream(sdk, header.endpoint) as stream:
                    for _ in stream.events:
                        pass
                    read_to_end = True
                    answer = stream.get_final()
        except openai.APIResponseValidationError as error:
            return ClientReading(client=name, outcome=ClientOutcome.UNREADABLE, error=_words(error))
        except _REPORTS as error:
            return ClientReading(client=name, outcome=ClientOutcome.REPORTED, error=_words(error))
        except Exception as error:  # the SDK raises anything, such as AssertionError
            outcome = ClientOutcome.NO_OBJECT if read_to_end else ClientOutcome.UNREADABLE
            return ClientReading(client=name, outcome=outcome, error=_words(error))
    # On Responses the final object is the server's own, which the audit holds against the deltas.
    fields = _different(capture, answer.to_dict()) if header.endpoint is Endpoint.CHAT else ()
    outcome = ClientOutcome.DIFFERENT if fields else ClientOutcome.READ
    return ClientReading(client=name, outcome=outcome, fields=fields)


def _different(capture: Capture, answer: object) -> tuple[str, ...]:
    """Fields in which the final object, read as an unstreamed response, has other text than was delivered."""
    body = Event(dumps(answer), None, "", EventKind.BODY)
    accumulated = read(Capture(header=capture.header, events=(body,), end=None)).choice.delivered().by_field()
    delivered = read(capture).choice.delivered().by_field()
    names = dict.fromkeys((*delivered, *accumulated))
    return tuple(name for name in names if delivered.get(name, "") != accumulated.get(name, ""))


@contextmanager
def _stream(sdk: openai.OpenAI, endpoint: Endpoint) -> Iterator["_Stream"]:
    """The accumulator of an endpoint over the recorded stream."""
    if endpoint is Endpoint.RESPONSES:
        with sdk.responses.stream(model="capture", input="") as response:
            yield _Stream(response, response.get_final_response)
    else:
        with sdk.chat.completions.stream(model="capture", messages=[]) as completion:
            yield _Stream(completion, completion.get_final_completion)


class _Stream(NamedTuple):
    events: Iterable[object]
    get_final: Callable[[], Any]


def _body_answer(sdk: openai.OpenAI, endpoint: Endpoint) -> Any:
    """The object of a whole body."""
    if endpoint is Endpoint.RESPONSES:
        return sdk.responses.create(model="capture", input="")
    if endpoint is Endpoint.CHAT:
        return sdk.chat.completions.create(model="capture", messages=[])
    return sdk.completions.create(model="capture", prompt="")


def _response(capture: Capture, *, whole: bool) -> httpx.Response:
    status = capture.header.status or 200
    if whole:
        body = "".join(event.data for event in capture.events if event.kind is EventKind.BODY)
        return httpx.Response(status, headers={"content-type": "application/json"}, content=_utf8(body))
    cut = capture.end is not None and capture.end.cut
    return httpx.Response(
        status, headers={"content-type": "text/event-stream"}, content=_body(capture, cut=cut)
    )


def _body(capture: Capture, *, cut: bool) -> Iterator[bytes]:
    for event in capture.events:
        yield _sent(event)
    if cut:
        raise httpx.ReadError("the connection was closed")


def _sent(event: Event) -> bytes:
    """An event as lines of a stream."""
    if event.kind is EventKind.COMMENT:
        return _utf8("".join(f": {line}\n" for line in event.data.splitlines()) + "\n")
    name = f"event: {event.name}\n" if event.name else ""
    return _utf8(name + "".join(f"data: {line}\n" for line in event.data.split("\n")) + "\n")


def _utf8(text: str) -> bytes:
    # A lone surrogate comes from a JSON escape of ours, and no server can send one.
    return text.encode("utf-8", "replace")


def _words(error: Exception) -> str:
    return clip(f"{type(error).__name__}: {' '.join(str(error).split())}", _ERROR_SHOWN)
