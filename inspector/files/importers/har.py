"""HAR files (HTTP Archive 1.2), as browsers, proxies and Playwright save them.

Each entry whose response is from a known endpoint is a capture; all others are ignored.
Chromium's DevTools add `_eventSourceMessages` (`time` in seconds since 1970, `eventName`, `eventId`, and
`data` unless the export was sanitized; as of Chromium 156). Events get their times from these; otherwise
times are unknown. Chromium records a failed response in
`response._error`, Playwright in `response._failureText`.
"""

import binascii
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from inspector.capture.bounds import CAPTURES, over
from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header
from inspector.capture.errors import CaptureError
from inspector.capture.json_values import as_int, as_object, as_string
from inspector.capture.redaction import redact
from inspector.files.importers.importer import Content, Importer
from inspector.files.importers.payloads import BodyAnswer, answer, as_time, shown, told
from inspector.protocol.wire.endpoints import endpoint_of_path

_NAMELESS: Final = "message"
"""What a browser calls an event without an `event` field."""


def sniff(content: Content) -> bool:
    """True for an object with a list `log.entries`."""
    return isinstance(_object(content.row, "log").get("entries"), list)


def read(content: Content) -> list[Capture]:
    """The captures of a HAR file in its order; raises CaptureError if no entry is one."""
    captures: list[Capture] = []
    empty = 0
    name, entries = content.name, _object(content.row, "log").get("entries")
    assert isinstance(entries, list)  # noqa: S101 -- sniffed
    if len(entries) > CAPTURES:
        raise CaptureError(name, over(CAPTURES, "entries"))
    for at, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise CaptureError(
                name, f"log.entries[{at}] is {shown(entry)}, not an object; export the HAR file again"
            )
        response = _answer(entry, f"{name}: log.entries[{at}]")
        endpoint = response.endpoint or _endpoint_of_request(entry, response)
        if endpoint is not None:
            captures.append(_capture(entry, endpoint, response))
        elif (
            not response.events
            and _path_endpoint(entry)
            and _object(entry, "request").get("method") == "POST"
        ):
            empty += 1
    if captures:
        return captures
    if empty:
        why = f"contains requests to vLLM ({empty}) but no response bodies; export it with content"
        raise CaptureError(name, why)
    endpoints = "chat completions, Responses, Messages or completions"
    why = f"none of the {len(entries):,} entries is a response of {endpoints}"
    raise CaptureError(name, f"{why}; record the request to vLLM")


def _object(row: Mapping[str, object], key: str) -> Mapping[str, object]:
    return as_object(row.get(key))


def _path_endpoint(entry: Mapping[str, object]) -> Endpoint | None:
    return endpoint_of_path(as_string(_object(entry, "request").get("url")) or "")


def _endpoint_of_request(entry: Mapping[str, object], response: BodyAnswer) -> Endpoint | None:
    """The requested endpoint, if the response does not show it: an error, or a stream without payloads."""
    status = _status(entry)
    streamed = any(event.kind is not EventKind.BODY for event in response.events)
    odd = response.failed or streamed or (status is not None and status >= 400)
    return _path_endpoint(entry) if response.events and odd else None


def _status(entry: Mapping[str, object]) -> int | None:
    status = as_int(_object(entry, "response").get("status"))
    return status if status is not None and status > 0 else None


def _answer(entry: Mapping[str, object], place: str) -> BodyAnswer:
    content = _object(_object(entry, "response"), "content")
    text = content.get("text")
    body = text.encode("utf-8", "replace") if isinstance(text, str) else b""
    if content.get("encoding") == "base64":
        try:
            body = binascii.a2b_base64(body)
        except binascii.Error as error:
            raise CaptureError(place, "its content is damaged base64; export the HAR file again") from error
    response = answer(body, place)
    messages = entry.get("_eventSourceMessages")
    if isinstance(messages, list) and messages and all(isinstance(message, dict) for message in messages):
        return _timed(response, messages, _started(entry))
    return response


def _timed(
    response: BodyAnswer, messages: Sequence[Mapping[str, object]], started: datetime | None
) -> BodyAnswer:
    """The response with the times of DevTools' messages, which also replace a missing body."""
    times = [None if started is None else _seconds(message.get("time"), started) for message in messages]
    if not response.events:
        names = [message.get("eventName") for message in messages]
        named = [name if isinstance(name, str) and name != _NAMELESS else "" for name in names]
        texts = [message.get("data") for message in messages]
        rows = zip(texts, times, named, strict=True)
        return told([Event(text, at_s, name) for text, at_s, name in rows if isinstance(text, str)])
    sent = [at for at, event in enumerate(response.events) if event.kind is EventKind.SSE]
    if len(sent) == len(messages) and all(
        message.get("data", response.events[at].data) == response.events[at].data
        for at, message in zip(sent, messages, strict=True)
    ):  # a sanitized export leaves out the data
        for at, at_s in zip(sent, times, strict=True):
            response.events[at] = response.events[at]._replace(at_s=at_s)
    return response


def _seconds(time: object, started: datetime) -> float | None:
    wall = as_time(time, latest=1e11)
    return None if wall is None else as_time(round(wall - started.timestamp(), 6))


def _started(entry: Mapping[str, object]) -> datetime | None:
    try:
        started = datetime.fromisoformat(as_string(entry.get("startedDateTime")) or "")
        return (started if started.tzinfo else started.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):  # .NET's first date lies before it in UTC
        return None


def _capture(entry: Mapping[str, object], endpoint: Endpoint, body: BodyAnswer) -> Capture:
    request = _request(entry)
    model, started, response = request.get("model"), _started(entry), _object(entry, "response")
    words = next(
        (text for key in ("_error", "_failureText") if isinstance(text := response.get(key), str)), ""
    )
    total_ms = as_time(entry.get("time"))
    header = Header(
        endpoint=endpoint,
        request=request,
        model=model if isinstance(model, str) else body.model,
        status=_status(entry),
        started_at=started.isoformat() if started else None,
        source="HAR file",
    )
    end = End(at_s=None if total_ms is None else round(total_ms / 1000, 6), cut=bool(words), detail=words)
    return Capture(header=header, events=body.events, end=end, notes=body.notes)


def _request(entry: Mapping[str, object]) -> dict[str, object]:
    text = _object(_object(entry, "request"), "postData").get("text")
    try:
        body = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return redact(body) if isinstance(body, dict) else {}


HAR: Final = Importer(
    name="har",
    label="a HAR file",
    files="a HAR file",
    becomes=(
        "one capture for each vLLM response in it; with times if Chromium's DevTools stored them "
        "(`_eventSourceMessages`)"
    ),
    suffixes=(".har",),
    begins=rb"\{",
    sniff=sniff,
    read=read,
)
