"""Shared by the importers: JSON from outside, the endpoint of a payload, HTTP bodies to events.

Raises only for invalid JSON where JSON is required.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from inspector.capture.bounds import EVENTS, LINES, over
from inspector.capture.capture import Endpoint, Event, EventKind
from inspector.capture.errors import CaptureError
from inspector.protocol.wire.endpoints import DONE, endpoint_of_payload, envelope_of, spec_of
from inspector.protocol.wire.sse import LIMIT_BYTES, SseDecoder, SseItem

_SLICE: Final = 2**20
_STREAM: Final = re.compile(rb"(?:data|event|id|retry)?:")
_LINE: Final = re.compile(rb"^(data:[^\r\n]*)(?:\r?\n|\Z)", re.MULTILINE)
_BLANK: Final = re.compile(rb"\n\r?\n|\r\r")
_BROKEN: Final = "The last event is not followed by a blank line: the stream or the file is truncated there."
_LONG: Final = f"An event is longer than {LIMIT_BYTES // 2**20} MiB and was truncated."
_SHOWN: Final = 40


class BodyAnswer(NamedTuple):
    """The body of an HTTP response as events."""

    events: list[Event]
    endpoint: Endpoint | None
    """None if no payload shows it."""
    model: str | None
    failed: bool
    """True when a payload is an error."""
    notes: tuple[str, ...] = ()


def shown(value: object) -> str:
    """A value from outside for an error text: short, one line, ASCII."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    words = ascii(value)
    return words if len(words) <= _SHOWN else words[: _SHOWN - 3] + "..."


NO_RESPONSE: Final = (
    "none of the first is a chunk, an event or a response; the command lint checks data sets and logs, "
    "rollout checks recorded conversations"
)
"""Why rows are rejected, and which commands read them."""


def loads(text: str | bytes, name: str, what: str = "the JSON") -> object:
    """Parse JSON; raises CaptureError with the line of the error."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise CaptureError(name, f"{what} is nested too deeply; no server sends that") from error
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and error.colno == 1:
            raise CaptureError(name, f"has one JSON value per line, but {NO_RESPONSE}") from error
        why = f"{what} is invalid or truncated at column {error.colno} ({error.msg}); save it again"
        raise CaptureError(name, why, line=error.lineno) from error
    except UnicodeDecodeError as error:
        why = f"{what} is damaged: byte {error.start} is not valid UTF-8; save it again"
        raise CaptureError(name, why) from error
    except ValueError as error:
        raise CaptureError(
            name, f"{what} contains a number with thousands of digits; no server sends that"
        ) from error


def is_cut_character(data: bytes, error: UnicodeDecodeError) -> bool:
    """True where bytes are not UTF-8 only because they end within a character."""
    return error.end >= len(data)


def as_time(value: object, *, latest: float = 1e9) -> float | None:
    """A number from 0 to `latest` as a float; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    return seconds if 0 <= seconds < latest else None


def is_error(payload: object) -> bool:
    """True for an error object of vLLM or FastAPI, and for a payload of an endpoint that has an error."""
    if not isinstance(payload, dict):
        return False
    if payload.get("object") == "error" or payload.get("type") == "error" or set(payload) == {"detail"}:
        return True
    # What is an object of another kind, as a trace span, tells of an error of its own.
    of_server = "object" not in payload or endpoint_of_payload(payload) is not None
    return of_server and bool(payload.get("error"))


def is_stream(body: bytes) -> bool:
    """True for what begins as an event stream does."""
    return _STREAM.match(body, len(body) - len(body.lstrip(b"\xef\xbb\xbf \t\r\n"))) is not None


def answer(body: bytes, name: str, payload: Mapping[str, object] | None = None) -> BodyAnswer:
    """An HTTP body to events without times: a stream to its events, anything else to one `BODY`.

    `payload` is what the body parses to, where that is known. Raises CaptureError for a stream of more lines
    or events than are read; `name` is for that.
    """
    if is_stream(body):
        return stream_answer(body, name)
    text = body.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    return told([Event(text, kind=EventKind.BODY)] if text else [], payload=payload)


def _is_dense(body: bytes) -> bool:
    """True for an event stream without its blank lines, as `grep data:` leaves it."""
    if _BLANK.search(body) is not None or (line := _LINE.search(body)) is None:
        return False
    try:  # the first of several data lines is not JSON by itself
        return isinstance(json.loads(line[1][5:]), dict) and line.end() < len(body)
    except (ValueError, RecursionError):
        return False


def stream_answer(body: bytes, name: str) -> BodyAnswer:
    """An event stream to events without times; raises CaptureError as `answer` does."""
    if body.count(b"\n") + body.count(b"\r") > 2 * LINES or body.count(b"\n") > LINES:
        raise CaptureError(name, over(LINES, "lines"))
    if dense := _is_dense(body):
        body = _LINE.sub(rb"\1\n\n", body)
    decoder = SseDecoder()
    items: list[SseItem] = []
    for at in range(0, len(body), _SLICE):
        items += decoder.receive(body[at : at + _SLICE])
        if len(items) > EVENTS:
            raise CaptureError(name, over(EVENTS, "events"))
    notes = [_LONG] if any(not item.complete for item in items) else []
    rest = decoder.close()
    if rest:
        notes.append(_BROKEN)
    kinds = (EventKind.SSE, EventKind.COMMENT)
    response = told([Event(item.data, None, item.name, kinds[item.comment]) for item in items + rest], notes)
    if not dense or response.endpoint is None:
        return response
    return response._replace(events=[named(event, response.endpoint) for event in response.events])


def named(event: Event, endpoint: Endpoint) -> Event:
    """The event named after its type, where its file lost the names and clients need them."""
    if event.name or event.kind is not EventKind.SSE or not spec_of(endpoint).named:
        return event
    kind = (parsed_object(event.data) or {}).get("type")
    return event._replace(name=kind) if isinstance(kind, str) else event


def parsed_object(text: str) -> Mapping[str, object] | None:
    """The JSON object that a text is; None for any other."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def told(
    events: Sequence[Event], notes: Sequence[str] = (), payload: Mapping[str, object] | None = None
) -> BodyAnswer:
    """The events with the facts from their payloads, up to the first that shows the endpoint.

    `payload` is that of the only event, where it is known.
    """
    failed = False
    for event in events:
        if event.kind is EventKind.COMMENT or event.data == DONE:
            continue
        try:
            parsed = json.loads(event.data) if payload is None else payload
        except (ValueError, RecursionError):
            continue
        failed = failed or is_error(parsed)
        endpoint = endpoint_of_payload(parsed, event.name)
        if endpoint is not None:
            model = envelope_of(parsed).get("model") if isinstance(parsed, dict) else None
            words = model if isinstance(model, str) else None
            return BodyAnswer(list(events), endpoint, words, failed, tuple(notes))
    return BodyAnswer(list(events), None, None, failed, tuple(notes))
