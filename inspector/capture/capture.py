"""A capture: the request and the response, verbatim, with arrival times; parsed from and rendered to JSONL.

Nothing derived is stored: tokens, messages and findings are computed from the events. This
module does no I/O; `store` reads and writes files. The format is described in
docs/capture-format.md. A damaged line is rejected, because a gap would look like lost tokens that were
never lost. A truncated last line is noted, and the complete lines are kept.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from io import BytesIO, TextIOWrapper
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from msgspec import MsgspecError, Struct
from msgspec.json import Decoder

from inspector.capture.bounds import EVENTS, over
from inspector.capture.collector import collector_paused
from inspector.capture.errors import CaptureError
from inspector.capture.redaction import redact

VERSION: Final = 1
"""Number of the file format, incremented with each change."""

ENDPOINT_GUESSED: Final = (
    "The response is only an error, which does not show the endpoint: assumed to be chat completions."
)
"""The note of a capture whose endpoint is a guess."""

MIGRATIONS: Final[Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]]] = {}
"""A header of format n to one of format n + 1; each old format has a file in fixtures/formats/."""


class Endpoint(StrEnum):
    """The endpoint of the request, which determines how its events are read."""

    CHAT = "chat"
    RESPONSES = "responses"
    COMPLETIONS = "completions"
    MESSAGES = "messages"
    TOKENS = "tokens"
    """A bare list of token IDs, without deliveries."""


class EventKind(StrEnum):
    """What one event of a capture is."""

    SSE = "data"
    """One server-sent event."""
    COMMENT = "comment"
    """A server-sent comment line (`: keep-alive`)."""
    BODY = "body"
    """A complete body that is not an event stream: an unstreamed response or an error page."""


class Event(NamedTuple):
    """One server-sent event, comment or body, verbatim."""

    data: str
    """Payload: the `data:` lines of a server-sent event joined by line feeds, or the body."""
    at_s: float | None = None
    """Seconds from the request to its arrival; None when unknown."""
    name: str = ""
    """The `event:` field of a server-sent event; empty when it had none."""
    kind: EventKind = EventKind.SSE


STOPPED: Final = "stopped by the client"
"""Detail of an end that the recording program brought about itself."""
_STOPPED: Final = frozenset({STOPPED, "stopped by you"})
"""The details that say so in files from before the key `stopped`."""


class ClosedBy(StrEnum):
    """Who closed the connection before the response ended, where it was not the server or the network."""

    CLIENT = "client"
    """The client of a proxy or middleware that recorded the response."""
    RECORDER = "recorder"
    """That proxy, because it was stopped."""


CLOSED_BY: Final = {
    ClosedBy.CLIENT: "the client closed the connection",
    ClosedBy.RECORDER: "the tap was stopped",
}
"""The detail of such an end; files from before the key `closed_by` have only this detail."""
_CLOSED_BY: Final = {detail: by for by, detail in CLOSED_BY.items()} | {
    "the client closed the stream": ClosedBy.CLIENT
}


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How the connection ended, as the recorder saw it."""

    at_s: float | None
    cut: bool
    """True if the connection broke, False if the body ended properly."""
    detail: str = ""
    """The transport's error message, empty for a proper end."""
    unread: str = ""
    """Why the recording ended before the response did, one sentence; empty when it holds all of it."""
    stopped: bool = False
    """True if the user of this program ended the request: that says nothing about the server."""
    closed_by: ClosedBy | None = None
    """Who cut it, if it is known not to be the server or the network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What is known before the first event."""

    endpoint: Endpoint
    endpoint_guessed: bool = False
    """True if the file did not show the endpoint."""
    request: Mapping[str, Any] = field(default_factory=dict)
    """The request's JSON body, without secrets; empty when unknown."""
    model: str | None = None
    server_version: str | None = None
    """Version as the server's /version said it, e.g. `0.13.0`."""
    owned_by: str | None = None
    """What the server's /v1/models says under `owned_by`, e.g. `vllm`: it names the server or front end."""
    status: int | None = None
    """HTTP status of the response."""
    started_at: str | None = None
    """ISO 8601 time of the request, UTC."""
    traceparent: str | None = None
    """The trace context of the request (W3C `traceparent`); None unless it is valid."""
    source: str = ""
    """What wrote this: the recorder, or the importer and the kind of file."""
    from_client: bool = False
    """True for events that a program got from its client library, which keeps `[DONE]` to itself."""
    excerpt: bool = False
    """True for a part of a response, as its file shows: events are left out, or all but their deltas."""
    script: tuple[int, ...] | None = None
    """Token IDs that the lab made the model sample; used as evidence only on request."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Unknown header keys, preserved."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Capture:
    """A request and its response."""

    header: Header
    events: Sequence[Event]
    end: End | None = None
    """None if unknown (`curl` output, a truncated file)."""
    notes: tuple[str, ...] = ()
    """What was lost or uncertain when the file was read, one sentence each."""

    def __repr__(self) -> str:
        return f"<Capture: {self.header.endpoint}, {len(self.events):,} events>"

    @property
    def unfinished(self) -> bool:
        """True for a recording without its last line: it still grows, or its recorder was stopped."""
        return self.end is None and self.header.started_at is not None


class _UsualLine(Struct, gc=False, forbid_unknown_fields=True):
    """A line of one server-sent event; every other line is read with the standard library's JSON."""

    data: str
    t: float | None = None
    event: str = ""


_usual: Final = Decoder(_UsualLine)
_SLAB: Final = 2**20  # bytes of lines that are decoded in one call
_BRACE: Final = ord("}")
_quoted: Final = json.encoder.encode_basestring_ascii
_FORMAT: Final = "harmony_capture"
_LATEST_S: Final = 1e9  # about 30 years: no stream takes longer, and this bound rejects NaN too
_TEXTS: Final = ("model", "server_version", "owned_by", "started_at", "source")
_FLAGS: Final = ("endpoint_guessed", "from_client", "excerpt")
_KNOWN: Final = {
    *(_FORMAT, "endpoint", "request", "status", "traceparent", "script", "notes"),
    *_FLAGS,
    *_TEXTS,
}
_TRACEPARENT: Final = re.compile("[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_SHOWN: Final = 40
_LINES_AT_MOST: Final = EVENTS + 2


def render(capture: Capture) -> Iterator[str]:
    """The lines of a capture file, without line ends; ASCII only."""
    yield header_line(capture.header, capture.notes)
    for event in capture.events:
        yield event_line(event)
    if capture.end is not None:
        yield end_line(capture.end)


def header_line(header: Header, notes: Sequence[str] = ()) -> str:
    """The first line: what is known of `header`, its request without secrets.

    Raises CaptureError if the request is nested too deeply for Python's JSON encoder.
    """
    row: dict[str, Any] = {_FORMAT: VERSION, "endpoint": header.endpoint.value}
    row.update({key: True for key in _FLAGS if getattr(header, key)})
    if header.request:
        row["request"] = redact(header.request)
    row.update({key: value for key in _TEXTS[:3] if (value := getattr(header, key)) is not None})
    if header.status is not None:
        row["status"] = header.status
    row.update({key: value for key in _TEXTS[3:] if (value := getattr(header, key))})
    if header.traceparent is not None:
        row["traceparent"] = header.traceparent
    if header.script is not None:
        row["script"] = header.script
    if notes:
        row["notes"] = list(notes)
    row.update({key: value for key, value in header.extra.items() if key not in _KNOWN})
    try:
        return json.dumps(row)
    except RecursionError as error:
        raise CaptureError("request", "nested too deeply to be written as JSON") from error


def event_line(event: Event) -> str:
    """One event; `t` only when its time is known, `event` only when it has a name."""
    # The same as `json.dumps` of a dict, but faster: a tap writes one for each token.
    at_s, time = event.at_s, ""
    if type(at_s) is float and 0.0 <= at_s < _LATEST_S:
        time = f'"t": {at_s!r}, '
    elif at_s is not None:
        time = f'"t": {json.dumps(at_s)}, '
    name = f'"event": {_quoted(event.name)}, ' if event.name else ""
    return f'{{{time}{name}"{event.kind.value}": {_quoted(event.data)}}}'


def end_line(end: End) -> str:
    """The last line: how the connection ended."""
    row: dict[str, object] = {} if end.at_s is None else {"t": end.at_s}
    row["end"] = "cut" if end.cut else "closed"
    if end.detail:
        row["detail"] = end.detail
    if end.stopped:
        row["stopped"] = True
    if end.closed_by is not None:
        row["closed_by"] = end.closed_by.value
    if end.unread:
        row["unread"] = end.unread
    return json.dumps(row)


def parse(lines: Iterable[str], name: str) -> Capture:
    """The lines of a capture file, with or without line ends, to a capture; `name` is for errors.

    Raises CaptureError for a newer format, a header without an endpoint, an invalid line, and too many lines.
    """
    with collector_paused():
        return _parsed(lines, name, [])


def parse_content(content: bytes, name: str) -> Capture:
    """Like `parse`, for the content of a capture file; most lines are decoded many at a time."""
    with collector_paused():
        start = content.find(b"\n") + 1 or len(content)
        events, rest = _usual_events(content, start)
        lines = TextIOWrapper(BytesIO(content[rest:]), encoding="utf-8", errors="replace", newline="\n")
        return _parsed(chain((content[:start].decode("utf-8", "replace"),), lines), name, events)


def _usual_events(content: bytes, start: int) -> tuple[list[Event], int]:
    """Events from a place on while each line has a usual one, and where that ends: before the last line."""
    events: list[Event] = []
    new, sse = tuple.__new__, EventKind.SSE
    last = content.rfind(b"\n", start, max(len(content) - 1, start)) + 1
    while 0 < start < last and len(events) < _LINES_AT_MOST:
        stop = content.find(b"\n", min(start + _SLAB, last - 1)) + 1
        try:
            lines = _usual.decode_lines(content[start:stop])
        except (MsgspecError, ValueError, RecursionError):
            break
        possible = all(line.t is None or 0.0 <= line.t < _LATEST_S for line in lines)
        if not possible or _objects(content, start, stop) != len(lines):
            break  # the line at fault is found one by one
        events += [new(Event, (line.data, line.t, line.event, sse)) for line in lines]
        start = stop
    return events, start


def _objects(content: bytes, start: int, stop: int) -> int:
    """How many lines end as an object does; -1 if one does not."""
    # The decoder takes any white space between objects: where there are as many of them, each line is one.
    objects, end = 0, start - 1
    while (end := content.find(b"\n", end + 1, stop)) >= 0:
        if content[end - 1] != _BRACE and content[end - 2 : end] != b"}\r":
            return -1
        objects += 1
    return objects


def _parsed(lines: Iterable[str], name: str, events: list[Event]) -> Capture:
    """The capture of a header line, the `events` of the lines behind it, and the lines behind those."""
    source = iter(lines)
    rows = enumerate(islice(source, _LINES_AT_MOST), 1)
    number, line = next((row for row in rows if row[1].strip()), (1, ""))
    header, notes = _header(line, name, number)
    rows = enumerate(islice(source, max(_LINES_AT_MOST - number - len(events), 0)), number + len(events) + 1)
    end: End | None = None
    append, usual, decode = events.append, _usual.decode, json.JSONDecoder().raw_decode
    new, sse = tuple.__new__, EventKind.SSE
    for number, line in rows:
        try:
            read = usual(line)
            if read.t is None or 0.0 <= read.t < _LATEST_S:
                append(new(Event, (read.data, read.t, read.event, sse)))  # skips NamedTuple's constructor
                continue
        except (MsgspecError, ValueError, RecursionError):  # not a plain event line: use the full parser
            pass
        line = line.strip()  # noqa: PLW2901 -- what JSON does not call white space too
        try:
            row, stop = decode(line)
            if stop != len(line):
                raise ValueError("text follows the object")
        except (ValueError, RecursionError):
            if not line:
                continue
            if any(later.strip() for _, later in rows):
                why = "damaged JSON; keep only the lines before it, or record again"
                raise CaptureError(name, why, line=number) from None
            lost = f"Line {number:,} is truncated after {len(line):,} characters"
            notes += (f"{lost}; all lines before it were read.",)
            break
        item = _line(row, name, number)
        if isinstance(item, End):
            end = item
            break
        append(item)
    for number, line in rows:
        if line.strip():
            raise CaptureError(
                name,
                "lines follow the end of the capture; split the file, each file is one capture",
                line=number,
            )
    if next(source, None) is not None:
        raise CaptureError(name, over(_LINES_AT_MOST, "lines"))
    return Capture(header=header, events=events, end=end, notes=notes)


def _header(line: str, name: str, number: int) -> tuple[Header, tuple[str, ...]]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        why = "the header line is truncated or not JSON; events need the header, record again"
        raise CaptureError(name, why, line=number) from error
    if not isinstance(row, dict) or type(version := row.get(_FORMAT)) is not int:
        raise CaptureError(name, f'not a capture: the first line has no "{_FORMAT}" number', line=number)
    while version != VERSION:
        if version > VERSION:
            why = f"format {_shown(version)} is newer than the supported {VERSION}; update the program"
            raise CaptureError(name, why, line=number)
        if version not in MIGRATIONS:
            raise CaptureError(name, f"format {_shown(version)} does not exist", line=number)
        row = MIGRATIONS[version](row)
        version = row[_FORMAT]
    endpoints = [endpoint.value for endpoint in Endpoint]
    if (endpoint := row.get("endpoint")) not in endpoints:
        why = f"the header's endpoint is {_shown(endpoint)}, not one of {', '.join(endpoints)}"
        raise CaptureError(name, why, line=number)
    script = row.get("script")
    values = {
        **dict.fromkeys(_FLAGS, (bool, "true or false")),
        "request": (dict, "an object"),
        "status": (int, "a number"),
        "script": (list, "a list of token IDs"),
        "notes": (list, "a list of sentences"),
        **dict.fromkeys(_TEXTS, (str, "text")),
    }
    for key, (kind, words) in values.items():
        if row.get(key) is not None and type(row[key]) is not kind:
            raise CaptureError(name, f"the header's {key} is {_shown(row[key])}, not {words}", line=number)
    if script is not None and not all(type(item) is int for item in script):
        raise CaptureError(name, "the header's script contains something other than token IDs", line=number)
    header = Header(
        endpoint=Endpoint(endpoint),
        endpoint_guessed=bool(row.get("endpoint_guessed")),
        request=row.get("request") or {},
        model=row.get("model"),
        server_version=row.get("server_version"),
        owned_by=row.get("owned_by"),
        status=row.get("status"),
        started_at=row.get("started_at"),
        traceparent=traceparent_in(row.get("traceparent")),
        source=row.get("source") or "",
        from_client=bool(row.get("from_client")),
        excerpt=bool(row.get("excerpt")),
        script=None if script is None else tuple(script),
        extra={key: value for key, value in row.items() if key not in _KNOWN},
    )
    return header, tuple(str(note) for note in row.get("notes") or ())


def traceparent_in(text: object) -> str | None:
    """A `traceparent` as it was sent; None for a value that is not a valid one."""
    return text if isinstance(text, str) and _TRACEPARENT.fullmatch(text) else None


def _line(row: object, name: str, number: int) -> Event | End:
    """One line that is not the usual event."""
    if not isinstance(row, dict):
        raise CaptureError(name, f"expected an object, found {_shown(row)}", line=number)
    at_s, text = row.get("t"), row.get("event", "")
    if at_s is not None:
        if type(at_s) not in {int, float} or not 0 <= at_s < _LATEST_S:
            raise CaptureError(name, f"t is {_shown(at_s)}, not seconds from the request", line=number)
        at_s = float(at_s)
    if (ending := row.get("end")) is not None and "data" not in row:
        detail, unread = row.get("detail", ""), row.get("unread", "")
        if ending not in ("closed", "cut") or not isinstance(detail, str) or not isinstance(unread, str):
            raise CaptureError(name, f'end is {_shown(ending)}, not "closed" or "cut"', line=number)
        cut = ending == "cut"
        stopped = cut and row.get("stopped", detail in _STOPPED) is True
        by = row.get("closed_by", _CLOSED_BY.get(detail)) if cut else None
        closed_by = next((member for member in ClosedBy if member == by), None)
        return End(at_s=at_s, cut=cut, detail=detail, unread=unread, stopped=stopped, closed_by=closed_by)
    for kind in EventKind:
        if isinstance(row.get(kind.value), str) and isinstance(text, str):
            return Event(row[kind.value], at_s, text, kind)
    if _FORMAT in row:
        raise CaptureError(
            name, "a second capture begins here; split the file, each file is one capture", line=number
        )
    raise CaptureError(
        name,
        "no data, comment, body or end with text; the line is damaged or not part of a capture",
        line=number,
    )


def _shown(value: object) -> str:
    """A value from outside for an error message: short, one line, ASCII."""
    words = ascii(value) if not isinstance(value, dict | list) else f"a {type(value).__name__}"
    return words if len(words) <= _SHOWN else words[: _SHOWN - 3] + "..."
