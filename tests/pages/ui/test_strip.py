"""The bytes in which a strip payload is sent."""

import json
from typing import Any

import pytest

import inspector
from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.files.importers import sniff_and_read
from inspector.files.store import builtin, load
from inspector.views.strip import strip
from pages.ui.strip import Payload, pack
from tests.support.strips import unpacked


def packed(capture: Capture) -> tuple[dict[str, Any], Payload]:
    inspection = inspector.inspect(capture)
    payload = strip(inspection, key="k", choice=inspection.reading.choices[0])
    return json.loads(json.dumps(payload)), pack(payload, digest="d")


@pytest.mark.parametrize("name", [row.name for row in builtin()])
def test_a_payload_comes_back_as_it_was(name: str) -> None:
    [path] = [row.path for row in builtin() if row.name == name]
    payload, sent = packed(load(path))
    assert unpacked(sent.content) == payload


def test_what_no_column_can_hold_stays_json() -> None:
    """A token ID that has more than 32 bits; cells without a token ID are in the built-in captures."""
    chunk = {"choices": [{"index": 0, "delta": {}, "token_ids": [200005, 2**40]}]}
    header = Header(endpoint=Endpoint.CHAT)
    payload, sent = packed(Capture(header=header, events=[Event(json.dumps(chunk), 0.5)]))
    names = json.loads(sent.content.split(b"\n", 1)[0])
    assert set(names) == {"index", "start", "at"}
    assert unpacked(sent.content) == payload


def test_an_empty_capture_has_no_columns() -> None:
    [capture] = sniff_and_read(b'{"harmony_capture": 1, "endpoint": "chat"}\n', "f")
    payload, sent = packed(capture)
    assert sent.content.startswith(b"{}\n")
    assert unpacked(sent.content) == payload
