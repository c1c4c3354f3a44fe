"""Faults of the connection and of single events, and the words that name a fault."""

import json
import re

import httpx
import openai
import pytest

from inspector.analysis.audit import Kind
from inspector.capture.capture import EventKind
from inspector.capture.errors import InspectorError
from inspector.net.playback import FAULTS, PlaybackSettings
from inspector.net.playback.faults import parse_faults
from tests.support.builtin import CAPTURES, COMPLETE_CHAT
from tests.support.playback import chat, kinds


def test_network_pieces_that_end_inside_characters_change_nothing(address: str) -> None:
    capture, findings, raised = chat(address, "split-bytes")
    assert raised is None
    assert findings == []
    assert [event.data for event in capture.events] == [
        event.data for event in CAPTURES[COMPLETE_CHAT].events
    ]


def test_a_cut_connection_is_found(address: str) -> None:
    capture, findings, raised = chat(address, "cut=5")
    assert isinstance(raised, httpx.RemoteProtocolError | openai.APIError)
    assert len(capture.events) == 5
    assert capture.end is not None
    assert capture.end.cut
    assert Kind.DISCONNECTED in kinds(findings)


def test_a_cut_inside_an_event_keeps_the_half_that_came(address: str) -> None:
    capture, findings, raised = chat(address, "cut-inside=5")
    assert raised is not None
    assert [event.data for event in capture.events[:5]] == [
        event.data for event in CAPTURES[COMPLETE_CHAT].events[:5]
    ]
    assert Kind.DISCONNECTED in kinds(findings)
    if len(capture.events) > 5:
        assert CAPTURES[COMPLETE_CHAT].events[5].data.startswith(capture.events[5].data)


def test_an_error_event_is_found(address: str) -> None:
    capture, findings, raised = chat(address, "error-event=5")
    assert isinstance(raised, openai.APIError)
    assert Kind.SERVER_ERROR in kinds(findings)
    assert len(capture.events) == 7


@pytest.mark.parametrize(("faults", "status"), [("http", 500), ("http=503", 503), ("http=401", 401)])
def test_an_http_error_is_found(address: str, faults: str, status: int) -> None:
    capture, findings, raised = chat(address, faults)
    assert isinstance(raised, openai.APIStatusError)
    assert raised.status_code == capture.header.status == status
    assert kinds(findings) == {Kind.SERVER_ERROR}


def test_a_html_error_page_is_found(address: str) -> None:
    capture, findings, raised = chat(address, "html")
    assert isinstance(raised, openai.InternalServerError)
    assert capture.events[0].kind is EventKind.BODY
    assert "502 Bad Gateway" in capture.events[0].data
    assert Kind.SERVER_ERROR in kinds(findings)


def test_malformed_json_is_found(address: str) -> None:
    _, findings, raised = chat(address, "malformed=5")
    assert isinstance(raised, json.JSONDecodeError)
    assert Kind.PROTOCOL in kinds(findings)


@pytest.mark.parametrize("fault", ["merge=x", "merge=1", "stall=3:x", "stall=x", "http=9", "cut=\u0663"])
def test_a_value_that_cannot_be_is_told_without_words_of_python(fault: str) -> None:
    with pytest.raises(InspectorError) as refused:
        parse_faults(fault)
    assert re.search(r": expected (a number from|0 to 3,600 seconds)", str(refused.value))


def test_a_missing_done_is_found(address: str) -> None:
    _, findings, raised = chat(address, "no-done")
    assert raised is None
    assert kinds(findings) == {Kind.PROTOCOL}


def test_every_fault_has_an_example_that_is_read() -> None:
    for fault in FAULTS.values():
        assert PlaybackSettings().changed({"faults": fault.example}).faults != PlaybackSettings().faults
