"""Whether a server sent the ids of all tokens: by its count, else by its release and its first ids."""

import json
from dataclasses import replace

import pytest

from inspector.analysis.audit import Kind, audit
from inspector.analysis.audit.missing_ids import ids_hint
from inspector.analysis.audit.stream_checks import transmission_of
from inspector.analysis.reading import Reading, read
from inspector.capture.capture import Capture, Endpoint, Event, EventKind, Header
from inspector.protocol.engines import ENGINES, Engine
from inspector.protocol.wire.endpoints import spec_of
from tests.support.streams import CLEAN, CLOSED, Step, chat, completion


def ids_missing(reading: Reading) -> bool:
    return transmission_of(reading).ids_missing


HEADLESS: list[Step] = [("final<|message|>", {}), ("Hi", {"content": "Hi"})]


@pytest.mark.parametrize(("counted", "missing"), [(14, False), (13, False), (15, True)])
def test_a_count_decides(counted: int, missing: bool) -> None:
    assert ids_missing(read(chat(CLEAN, usage=counted, version="0.12.0"))) is missing


@pytest.mark.parametrize(
    ("version", "missing"),
    [("0.12.0", True), ("0.13.0", False), ("0.32.0", False), (None, True), ("dev", True)],
)
def test_without_a_count_the_release_and_the_first_header_decide(version: str | None, missing: bool) -> None:
    assert ids_missing(read(chat(HEADLESS, version=version))) is missing
    assert not ids_missing(read(chat(CLEAN, version=version)))


def test_a_chat_without_any_body_misses_nothing_that_can_be_told() -> None:
    assert not ids_missing(read(chat([("final", {})], version=None)))


def test_only_streams_of_chat_leave_ids_out() -> None:
    assert not ids_missing(read(completion([("final<|message|>Hi", "Hi")])))
    body = '{"choices": [{"index": 0, "message": {"content": "Hi"}, "token_ids": [17196, 200008, 12194]}]}'
    body_event = Event(body, kind=EventKind.BODY)
    assert not ids_missing(
        read(Capture(header=Header(endpoint=Endpoint.CHAT), events=[body_event], end=CLOSED))
    )


def test_a_chunk_without_text_has_no_logprobs() -> None:
    chunk = (
        '{"choices": [{"index": 0, "delta": {"content": "Hi"}, "logprobs": {"content": [{"token": "Hi"}]}}]}'
    )
    reading = read(Capture(header=Header(endpoint=Endpoint.CHAT), events=[Event(chunk)], end=CLOSED))
    assert ids_missing(reading)


def test_logprobs_of_the_framing_show_that_steps_without_text_are_sent() -> None:
    steps = [("<|channel|>", ""), ("final", ""), ("<|message|>", ""), ("Ap", ""), ("ologies", "ologies")]
    chunks = [
        {"choices": [{"index": 0, "delta": {"content": text}, "logprobs": {"content": [{"token": token}]}}]}
        for token, text in steps
    ]
    events = [Event(json.dumps(chunk)) for chunk in chunks]
    reading = read(Capture(header=Header(endpoint=Endpoint.CHAT), events=events, end=CLOSED))
    assert not ids_missing(reading)
    assert [finding.generated for finding in audit(reading) if finding.kind is Kind.DROPPED] == ["Ap"]


@pytest.mark.parametrize("ids_requested", [True, False])
def test_ids_that_were_asked_for_are_not_to_be_asked_for_again(ids_requested: bool) -> None:
    capture = chat(CLEAN, with_ids=False, version="0.32.0")
    request = {"return_token_ids": True} if ids_requested else {}
    hint = ids_hint(read(replace(capture, header=replace(capture.header, request=request))))
    assert ("send return_token_ids: true" in hint) is not ids_requested
    assert ("already has `return_token_ids: true`" in hint) is ids_requested


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if not engine.no_ids], ids=lambda e: e.name)
@pytest.mark.parametrize("streamed", [True, False])
def test_a_hint_names_the_keys_that_such_a_request_has(engine: Engine, streamed: bool) -> None:
    keys = engine.evidence_request(spec_of(Endpoint.CHAT), streamed=streamed)
    request = {"stream": streamed, **keys}
    choice = {"index": 0, "delta": {"content": "Hi"}, "message": {"content": "Hi"}}
    data = json.dumps({**dict.fromkeys(engine.members), "choices": [choice]})
    header = Header(endpoint=Endpoint.CHAT, owned_by=next(iter(engine.owners), None), request=request)
    event = Event(data, kind=EventKind.SSE if streamed else EventKind.BODY)
    hint = ids_hint(read(Capture(header=header, events=[event], end=CLOSED)))
    assert all(f"`{key}: " in hint for key in keys), hint
