"""Captures may come from anywhere: no value in one makes a fault of the playback raise."""

import json
from contextlib import suppress
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.capture.capture import Capture, Endpoint, Event
from inspector.capture.errors import InspectorError
from inspector.net.playback import FAULTS
from inspector.net.playback.faults import parse_faults
from inspector.net.playback.served_response import served_response
from inspector.protocol.wire.endpoints import asked_endpoints
from tests.support.mutated import mutated
from tests.support.streams import CLEAN, chat

_VALUES: Final = {"merge": "3", "stall": "2:0", "http": "500", "after-return": "200005", "cut": "2"}


def asked(name: str) -> str:
    return f"{name}={_VALUES[name]}" if name in _VALUES else name


def played(capture: Capture, fault: str) -> None:
    own = capture.header.endpoint
    endpoint = own if own in asked_endpoints() else Endpoint.COMPLETIONS
    with suppress(InspectorError):  # a fault that such a capture cannot have is one sentence
        served_response(capture, endpoint, dict(capture.header.request), parse_faults(fault))


@given(mutated(), st.sampled_from(sorted(FAULTS)))
def test_any_capture_is_played_with_any_fault(capture: Capture, name: str) -> None:
    played(capture, asked(name))


@pytest.mark.parametrize("fault", ["merge=3", "merge=3,last-token-only", "split-utf8", "swallow", "ragged"])
@pytest.mark.parametrize(
    "choice",
    [
        {"index": [], "delta": {"content": "a"}, "token_ids": [35644]},
        {"index": {}, "text": "a", "token_ids": [35644]},
        {
            "index": 0,
            "delta": {"tool_calls": [{"index": 0, "function": {"arguments": [1]}}]},
            "token_ids": [1],
        },
        {
            "index": 0,
            "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "a"}}]},
            "token_ids": [1],
        },
        {"index": 0, "delta": {}, "token_ids": [-1, 10**30]},
    ],
)
def test_an_odd_value_in_a_chunk_is_played(choice: dict[str, Any], fault: str) -> None:
    clean = chat(CLEAN)
    odd = [Event(json.dumps({"choices": [choice]}), 0.2)] * 3
    for capture in (clean, Capture(header=clean.header, events=[*odd, *clean.events], end=clean.end)):
        played(capture, fault)
    assert clean.header.endpoint is Endpoint.CHAT
