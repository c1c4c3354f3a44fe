"""JSON of chunks, events, responses and of requests with their responses."""

import json
from collections.abc import Mapping

import pytest

from inspector.capture.capture import Capture, Endpoint, EventKind
from inspector.files.importers import sniff_and_read
from inspector.inspection.inspection import inspect
from tests.support.foreign import CHAT, RESPONSES, known, read, refusal
from tests.support.forms import (
    BODY,
    CHUNKS,
    EVENTS,
    IDS,
    REQUEST,
    STREAM,
    batch_row,
    generated,
    lines,
)


def findings_of(capture: Capture) -> list[tuple[str, object, object, object]]:
    return [
        (str(finding.code), finding.field, finding.generated, finding.delivered)
        for finding in inspect(capture).findings
    ]


def with_id(name: str) -> list[dict[str, object]]:
    return [{**chunk, "id": name} for chunk in CHUNKS]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lines", lines(CHUNKS)),
        ("lines with the end", lines(CHUNKS) + "[DONE]\n"),
        ("values of jq", "\n".join(json.dumps(chunk, indent=2) for chunk in CHUNKS)),
        ("array", json.dumps(CHUNKS)),
        ("below a key", lines({"t": 1.5, "level": "info", "chunk": chunk} for chunk in CHUNKS)),
        ("as text", lines({"data": json.dumps(chunk)} for chunk in CHUNKS)),
        ("texts of the stream", json.dumps(STREAM.splitlines(keepends=True))),
        (
            "what a client read at a time",
            json.dumps([STREAM[at : at + 7] for at in range(0, len(STREAM), 7)]),
        ),
        ("lines of the stream", json.dumps(STREAM.split("\n\n"))),
        ("without blank lines", STREAM.replace("\n\n", "\n")),
    ],
)
def test_chunks_in_any_form_give_the_findings_of_the_stream(name: str, text: str) -> None:
    capture = read(text)
    assert capture.header.endpoint is Endpoint.CHAT
    assert findings_of(capture) == findings_of(known(CHAT))
    assert inspect(capture).verdict.level is inspect(known(CHAT)).verdict.level


def test_a_client_library_keeps_the_end_to_itself_so_it_is_not_missed() -> None:
    assert read(lines(CHUNKS)).header.from_client
    assert not read(lines(CHUNKS) + "[DONE]").header.from_client
    assert "no_done" in [code for code, *_ in findings_of(read(STREAM.removesuffix("data: [DONE]\n\n")))]


@pytest.mark.parametrize("text", [lines(EVENTS), json.dumps(EVENTS), lines({"event": e} for e in EVENTS)])
def test_events_of_responses_give_the_findings_of_the_stream(text: str) -> None:
    assert findings_of(read(text)) == findings_of(known(RESPONSES))


def test_mixed_streams_are_told_apart_by_their_id() -> None:
    mixed = [chunk for pair in zip(with_id("a"), with_id("b"), strict=True) for chunk in pair]
    captures = sniff_and_read(lines(mixed).encode(), "f")
    assert [findings_of(capture) for capture in captures] == [findings_of(known(CHAT))] * 2
    other_events = [{**event, "item_id": "other"} for event in EVENTS]
    interleaved = [event for pair in zip(EVENTS, other_events, strict=True) for event in pair]
    assert "mixed and cannot be separated" in refusal(lines(interleaved))
    assert len(sniff_and_read(lines([*EVENTS, *EVENTS]).encode(), "f")) == 2


@pytest.mark.parametrize(
    ("row", "status"),
    [
        ({"request": REQUEST, "response": {"streamed_data": CHUNKS}}, None),
        ({"request_body": json.dumps(REQUEST), "response_body": STREAM, "response_status": 200}, 200),
        (
            {
                "request": {"method": "POST", "url": "u", "body": REQUEST},
                "response": {"status": 200, "headers": {}, "body": STREAM},
            },
            200,
        ),
        ({"inputs": REQUEST, "output": {"chunks": CHUNKS}}, None),
        ({"interactions": [{"request": {"body": json.dumps(REQUEST)}, "response": {
            "status": {"code": 200, "message": "OK"}, "body": {"string": STREAM}}}]}, 200),
        ({"raw": STREAM, "chunks": CHUNKS, "request": REQUEST,
          "response": {**BODY, "id": CHUNKS[0]["id"]}}, None),
    ],
)  # fmt: skip
def test_a_pair_gives_response_request_and_status(row: Mapping[str, object], status: int | None) -> None:
    text = json.dumps(row)
    for capture in (read(text), *sniff_and_read(f"{text}\n{text}".encode(), "f")):
        assert findings_of(capture) == findings_of(known(CHAT))
        assert capture.header.request == REQUEST
        assert capture.header.status == status


def test_a_log_of_litellm_has_messages_and_options_apart() -> None:
    options = {key: value for key, value in REQUEST.items() if key not in {"model", "messages"}}
    row = {"id": "x", "call_type": "acompletion", "status": "success", "response": BODY, "api_key": "sk-1"}
    row |= {"model": "m", "messages": REQUEST["messages"]}
    assert read(json.dumps({**row, "model_parameters": options})).header.request == {**REQUEST, "model": "m"}
    assert read(json.dumps(row)).header.request == {}  # a request in part would be blamed for what it lacks
    short = {**BODY, "choices": [{"index": 0, "message": {"content": "a... (litellm_truncated skipped 9)"}}]}
    assert "value 1: LiteLLM left out text" in refusal(json.dumps({**row, "response": short}))


def test_output_of_a_batch_gives_each_response_with_its_name() -> None:
    expired = {"id": "3", "custom_id": "row-3", "response": None, "error": {"code": "batch_expired"}}
    rows = [batch_row(1, 200, BODY), batch_row(2, 400, {"error": {"message": "no"}}), expired]
    first, second = sniff_and_read(lines(rows).encode(), "f")
    assert [(capture.header.status, capture.header.extra["request_id"]) for capture in (first, second)] == [
        (200, "row-1"),
        (400, "row-2"),
    ]
    assert first.notes == ("Skipped 1 row without a response.",)
    assert {event.kind for event in first.events} == {EventKind.BODY}
    assert [code for code, *_ in findings_of(second)] == ["server_error"]
    request_row = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": REQUEST}
    assert "the command lint checks" in refusal(lines([request_row, request_row]))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (lines(CHUNKS[:3]) + '{"id": "x\n' + lines(CHUNKS[3:]), "f:4: the JSON is damaged"),
        (lines([*CHUNKS[:3], None, *CHUNKS[3:]]), "f: row 4 (None) is among the chunks"),
        (lines([*CHUNKS[:3], {"choices": []}, *CHUNKS[3:]]), "f: row 4 (an object) is among the chunks"),
        (json.dumps([*CHUNKS[:3], "x", *CHUNKS[3:]]), "f: value 4 ('x') is among the chunks"),
        (json.dumps(CHUNKS)[:-20], "f:1: the JSON is invalid or truncated"),
    ],
)
def test_damage_that_would_look_like_lost_tokens_is_rejected(text: str, sentence: str) -> None:
    assert refusal(text).startswith(sentence)


def test_a_last_line_that_is_cut_off_is_noted() -> None:
    for text in (lines(CHUNKS)[:-30], "\n".join(json.dumps(chunk, indent=1) for chunk in CHUNKS)[:-30]):
        capture = read(text)
        assert len(capture.events) == len(CHUNKS) - 1
        assert capture.notes[0].endswith("is truncated; all before it was read.")
    cut = read(lines([{**BODY, "model": "é"}]).encode() + '{"a": "é'.encode()[:-1])
    assert cut.notes == ("Line 2 is truncated; all before it was read.",)
    assert "byte" in refusal(lines([BODY]).encode() + b'{"a": "\xff"}\n' + lines([BODY]).encode())


def test_generate_of_sglang_gives_the_ids_of_all_its_forms() -> None:
    size = len(IDS)
    cumulative = [generated(IDS[:stop], stop) for stop in range(1, size + 1)]
    new = [generated(IDS[stop - 1 : stop], stop) for stop in range(1, size + 1)]
    entries = [[-0.1, token, None] for token in IDS]
    old = {"text": "x", "meta_info": {"completion_tokens": size, "output_token_logprobs": entries}}
    forms = [
        json.dumps(generated(IDS, size)),
        json.dumps([generated(IDS, size)]),
        lines(cumulative),
        lines(new),
    ]
    forms += ["".join(f"data: {json.dumps(row)}\n\n" for row in rows) for rows in (cumulative, new)]
    forms += [json.dumps(old), json.dumps(generated(IDS[:-1], size))]  # the stop token is only named
    for text in forms:
        capture = read(text)
        assert capture.header.endpoint is Endpoint.TOKENS
        assert [json.loads(event.data) for event in capture.events] == [IDS]
    assert "completion_tokens is" in refusal(json.dumps(generated(IDS[:3], size)))
    assert "return_logprob" in refusal(json.dumps({"text": "x", "meta_info": {"id": "a"}}))


def test_completions_of_one_chunk_and_whole_ones_are_told_apart() -> None:
    choice = {"index": 0, "text": "a", "finish_reason": None}
    chunk = {"id": "c", "object": "text_completion", "model": "m", "choices": [choice]}
    end = {**chunk, "choices": [{**choice, "finish_reason": "stop"}]}
    assert [event.kind for event in read(lines([chunk, end])).events] == [EventKind.SSE] * 2
    captures = sniff_and_read(lines([end, {**end, "id": "d"}]).encode(), "f")
    assert [capture.events[0].kind for capture in captures] == [EventKind.BODY] * 2
