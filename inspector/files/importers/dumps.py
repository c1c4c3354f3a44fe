"""Output of `curl -N`: an event stream or a body, with `-i` after its HTTP headers.

Times are unknown and left out.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from inspector.capture.bounds import CAPTURES, over
from inspector.capture.capture import ENDPOINT_GUESSED, Capture, Endpoint, Event, EventKind, Header
from inspector.capture.errors import CaptureError
from inspector.capture.json_values import as_string
from inspector.files.importers.importer import Content, Importer
from inspector.files.importers.payloads import BodyAnswer, answer, parsed_object
from inspector.files.importers.values import results_of
from inspector.protocol.wire.endpoints import DONE, EndpointSpec, envelope_of, spec_of

_BEGINS: Final = re.compile(rb"\s*(?:HTTP/[0-9.]+ [0-9]{3}|(?:data|event|id|retry)?:)")
_HEADERS: Final = re.compile(rb"HTTP/[0-9.]+ ([0-9]{3})[^\n]*\n(?:[^\r\n]+\r?\n)*(?:\r?\n|\Z)")


def sniff(content: Content) -> bool:
    """True for what begins as an event stream or as HTTP headers do."""
    return _BEGINS.match(content.data) is not None


def read(content: Content) -> list[Capture]:
    """The responses in a file; several if they were appended to each other (`curl -N ... >> file`).

    Raises CaptureError if nothing in it comes from one of vLLM's endpoints.
    """
    return read_dump(content.data, content)


def read_dump(dump: bytes, content: Content) -> list[Capture]:
    """The same for the part of a file's content that is the dump."""
    status, at = None, len(dump) - len(dump.lstrip())
    while headers := _HEADERS.match(dump, at):  # 100 Continue, a proxy's CONNECT and redirects come first
        status, at = int(headers[1]), headers.end()
    return captures_of(answer(dump[at:] if at else dump, content.name), content, status)


def captures_of(response: BodyAnswer, content: Content, status: int | None = None) -> list[Capture]:
    """One capture for each of the responses that a body consists of."""
    endpoint, notes, guessed, name = response.endpoint, response.notes, False, content.name
    rejected = response.failed or (status is not None and status >= 400)
    if endpoint is None and rejected:
        endpoint, notes, guessed = Endpoint.CHAT, (*notes, ENDPOINT_GUESSED), True
    if endpoint is None and not response.events:
        raise CaptureError(name, "headers without a body; let curl finish and save the output again")
    if endpoint is None:
        if results := results_of((event.data for event in response.events), name):
            return results
        raise content.unsupported(
            "contains no event or body of chat completions, Responses, Messages or completions"
        )
    parts = _answers(response.events, spec_of(endpoint))
    if len(parts) > CAPTURES:
        raise CaptureError(name, over(CAPTURES, "responses"))
    source = "curl -i dump" if status is not None else "curl dump"
    header = Header(
        endpoint=endpoint, endpoint_guessed=guessed, model=response.model, status=status, source=source
    )
    return [Capture(header=header, events=events, notes=notes) for events in parts]


def _answers(events: Sequence[Event], spec: EndpointSpec) -> list[list[Event]]:
    """The events, split after each `[DONE]` that is followed by others, and where another response begins."""
    ends = [place for place, event in enumerate(events, 1) if event.data == DONE]
    cuts = sorted({0, *ends, *_further_beginnings(events, spec), len(events)})
    parts = [list(events[start:end]) for start, end in pairwise(cuts)]
    if len(parts) > 1 and all(event.kind is EventKind.COMMENT for event in parts[-1]):
        parts[-2:] = [parts[-2] + parts[-1]]
    return parts


def _further_beginnings(events: Sequence[Event], spec: EndpointSpec) -> Iterator[int]:
    """Places of first events that have another ID than the response before, or follow its end."""
    types = (spec.first_type, *spec.terminal_types) if spec.first_type else ()
    ended, latest = False, None
    for place, event in enumerate(events):
        payload = parsed_object(event.data) if any(name in event.data for name in types) else None
        kind = "" if payload is None else as_string(payload.get("type")) or ""
        if payload is not None and kind == spec.first_type:
            response = as_string(envelope_of(payload).get("id"))
            if ended or latest not in {None, response}:
                yield place
            ended, latest = False, response
        elif kind in spec.terminal_types:
            ended = True


CURL: Final = Importer(
    name="curl",
    label="curl -N output",
    files="output of `curl -N`, with or without `-i`",
    becomes="events without times; the endpoint is detected from the payloads, the status from the headers",
    suffixes=(".txt", ".sse"),
    begins=rb"HTTP/[0-9.]+ [0-9]|(?:data|event|id|retry)?:",
    by_lines=True,
    sniff=sniff,
    read=read,
)
