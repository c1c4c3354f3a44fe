"""A value of any type may be under any key of a file of another program: read, or refused in a sentence."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import pytest

from inspector.capture.errors import CaptureError
from inspector.files.importers import sniff_and_read
from tests.support.foreign import RECORDED
from tests.support.forms import (
    BODY,
    CHUNKS,
    DELTAS,
    EVENTS,
    IDS,
    OLLAMA,
    REQUEST,
    STREAM,
    batch_row,
    generated,
)
from tests.support.mutated import paths, replaced

VALUES: Final[tuple[Any, ...]] = (None, True, -1, 0.5, "x", [], {}, [[]], {"a": {}})
HAR: dict[str, Any] = {
    "log": {
        "entries": [
            {
                "startedDateTime": "2026-11-20T10:00:00Z",
                "request": {"url": "http://h/v1/chat/completions", "postData": {"text": json.dumps(REQUEST)}},
                "response": {"status": 200, "content": {"text": STREAM[:3000]}},
                "_eventSourceMessages": [{"data": "[DONE]", "time": 1.0, "eventName": "message"}],
            }
        ]
    }
}
ENDED = {"type": "error", "error": {"message": "x"}}
FILES: dict[str, Sequence[Any]] = {
    "chunks": [*CHUNKS[:3], CHUNKS[-1], "[DONE]"],
    "events": [*EVENTS[:4], ENDED],
    "responses": [EVENTS[0], EVENTS[0]],
    "pair": [{"request_body": REQUEST, "response_body": {"streamed_data": STREAM[:3000]}, "status": 200}],
    "batch": [batch_row(1, 200, BODY), batch_row(2, 400, {"error": {"message": "no"}})],
    "generate": [generated(IDS, len(IDS)), generated(IDS, len(IDS))],
    "recorded": [RECORDED],
    "har": [HAR],
    "deltas": DELTAS,
    "ollama": OLLAMA,
}
PRINTED = (
    "RequestOutput(request_id={}, prompt_token_ids={}, outputs=[CompletionOutput(index={}, token_ids={})])"
)


def read(content: str) -> None:
    with suppress(CaptureError):
        sniff_and_read(content.encode(), "file")


@pytest.mark.parametrize("name", FILES)
def test_any_value_under_any_key_is_read_or_refused(name: str) -> None:
    values = FILES[name]
    places = [(row, path) for row, value in enumerate(values) for path in paths(value)]
    for row, path in places:
        for value in VALUES:
            changed = [*values[:row], replaced(values[row], path, value), *values[row + 1 :]]
            read("\n".join(json.dumps(row) for row in changed))
            read(json.dumps(changed))


@pytest.mark.parametrize("place", range(4))
def test_any_printed_value_is_read_or_refused(place: int) -> None:
    for value in ("[1]", "{'a': 1}", "(1, 2)", "b'x'", "{1}", "Other(a=[])", "None"):
        words = ["'r'", "[1, 2]", "0", "[3, 4]"]
        words[place] = value
        read("\n".join([PRINTED.format(*words)] * 2))
