"""Output of `curl -N`: an event stream or a body, with `-i` after its HTTP headers.

Times are unknown and left out.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from inspector.capture.bounds import CAPTURES, over
from inspector.capture.capture import ENDPOINT_GUESSED, Capture, Endpoint, Event, EventKind, Header
from inspector.capture.errors import CaptureError
from inspector.files.importers.payloads import KINDS, answer

_HEADERS: Final = re.compile(rb"HTTP/[0-9.]+ ([0-9]{3})[^\n]*\n(?:[^\r\n]+\r?\n)*(?:\r?\n|\Z)")


def read_dump(content: bytes, name: str) -> list[Capture]:
    """The responses in a file; several if they were appended to each other (`curl -N ... >> file`).

    Raises CaptureError if nothing in it comes from one of vLLM's endpoints.
    """
    status, at = None, len(content) - len(content.lstrip())
    while found := _HEADERS.match(content, at):  # 100 Continue, a proxy's CONNECT and redirects come first
        status, at = int(found[1]), found.end()
    body = content[at:] if at else content
    read = answer(body, name)
    endpoint, notes, guessed = read.endpoint, read.notes, False
    refused = read.failed or (status is not None and status >= 400)
    if endpoint is None and refused:
        endpoint, notes, guessed = Endpoint.CHAT, (*notes, ENDPOINT_GUESSED), True
    if endpoint is None and not read.events:
        raise CaptureError(name, "headers without a body; let curl finish and save the output again")
    if endpoint is None:
        why = f"contains no event or body of chat completions, Responses or completions; use {KINDS}"
        raise CaptureError(name, why)
    parts = _answers(read.events)
    if len(parts) > CAPTURES:
        raise CaptureError(name, over(CAPTURES, "responses"))
    source = "curl -i dump" if status is not None else "curl dump"
    header = Header(
        endpoint=endpoint, endpoint_guessed=guessed, model=read.model, status=status, source=source
    )
    return [Capture(header=header, events=events, notes=notes) for events in parts]


def _answers(events: Sequence[Event]) -> list[list[Event]]:
    """The events, split after each `[DONE]` that is followed by others."""
    ends = [place + 1 for place, event in enumerate(events) if event.data == "[DONE]"]
    parts = [list(events[start:end]) for start, end in pairwise([0, *ends, len(events)])]
    if len(parts) > 1 and all(event.kind is EventKind.COMMENT for event in parts[-1]):
        parts[-2:] = [parts[-2] + parts[-1]]
    return parts
