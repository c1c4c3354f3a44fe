"""The JSON files of the first lab recordings: lines of the stream with their seconds since the request.

An object with `server`, `endpoint` (a path), `request`, `status`, `lines` ([[seconds, line], ...]
without the blank lines), `error` (the transport's, or null) and `script`.
"""

from collections.abc import Mapping
from typing import Final

from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header
from inspector.capture.errors import CaptureError
from inspector.capture.json_values import as_int, as_object, as_string
from inspector.files.importers.importer import Content, Importer
from inspector.files.importers.payloads import as_time, shown
from inspector.protocol.wire.endpoints import endpoint_of_path

_REST: Final = ("id:", "retry:")


def sniff(content: Content) -> bool:
    """True for an object with `lines` and a path as `endpoint`."""
    row = content.row
    return isinstance(row.get("lines"), list) and isinstance(row.get("endpoint"), str)


def read(content: Content) -> list[Capture]:
    """One recording; raises CaptureError for an invalid line or endpoint."""
    row, name = content.row, content.name
    endpoint = endpoint_of_path(as_string(row["endpoint"]) or "")
    if endpoint is None:
        raise CaptureError(
            name, f"endpoint is {shown(row['endpoint'])}, not a vLLM endpoint that generates text"
        )
    events: list[Event] = []
    body: list[str] = []
    event_name, at_s = "", None
    lines = row["lines"]
    for at, pair in enumerate(lines if isinstance(lines, list) else ()):
        match pair:
            case [seconds, str() as line] if (time := as_time(seconds)) is not None:
                at_s = time
            case _:
                raise CaptureError(name, f"lines[{at}] is {shown(pair)}, not [seconds, text]")
        if line.startswith("event:"):
            event_name = line[6:].removeprefix(" ")
        elif line.startswith("data:"):
            events.append(Event(line[5:].removeprefix(" "), at_s, event_name))
            event_name = ""
        elif line.startswith(":"):
            events.append(Event(line[1:].removeprefix(" "), at_s, kind=EventKind.COMMENT))
        elif line and not line.startswith(_REST):
            body.append(line)
    if body:
        events.append(Event("\n".join(body), at_s, kind=EventKind.BODY))
    error = row.get("error")
    detail = error if isinstance(error, str) else "" if error is None else shown(error)
    end = End(at_s=at_s, cut=error is not None, detail=detail)
    return [Capture(header=_header(row, endpoint), events=events, end=end)]


def _header(row: Mapping[str, object], endpoint: Endpoint) -> Header:
    request, script = as_object(row.get("request")), row.get("script")
    ids = tuple(script) if isinstance(script, list) and all(type(item) is int for item in script) else None
    return Header(
        endpoint=endpoint,
        request=request,
        model=as_string(request.get("model")),
        server_version=as_string(as_object(row.get("server")).get("version")),
        status=as_int(row.get("status")),
        source="lab recording",
        script=ids,
    )


RECORDED: Final = Importer(
    name="recorded",
    label="",
    files=(
        "JSON files of the first lab recordings (`server`, `endpoint`, `request`, `status`, `lines`, "
        "`error`, `script`)"
    ),
    becomes="a capture with times",
    suffixes=(".json",),
    begins=rb"\{",
    sniff=sniff,
    read=read,
)
