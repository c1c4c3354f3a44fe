import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.analysis.audit import audit
from inspector.analysis.reading import Evidence, Reader, Reading, read
from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.files.store import FIXTURES, load_all
from inspector.protocol.harmony.vocab import encode
from tests.support.servers import HABITS, serve
from tests.support.streams import chat_chunk

FIXTURE_CAPTURES = [capture for path in sorted(FIXTURES.glob("*.jsonl*")) for capture in load_all(path)]
NAMES = [path.name for path in sorted(FIXTURES.glob("*.jsonl*"))]
TEXT = (
    "<|channel|>analysis<|message|>Thinking.<|end|>"
    "<|start|>assistant<|channel|>commentary to=functions.f json"
    '<|message|>{"a":1}<|call|>stray<|start|>assistantary<|message|>x<|end|>'
)


def looked_at(reading: Reading) -> list[Any]:
    return [
        audit(reading),
        *(
            (
                choice.evidence,
                choice.tokens,
                choice.transcript.messages,
                choice.transcript.rejected_runs,
                choice.expected,
                choice.deltas,
            )
            for choice in reading.choices
        ),
    ]


def growing(capture: Capture, truth: list[int] | None = None) -> Reading:
    reader = Reader(capture.header, truth=truth)
    reader.reading()
    for event in capture.events:
        reader.receive([event])
        audit(reader.reading())
    return reader.reading(end=capture.end, notes=capture.notes, ended=True)


@pytest.mark.parametrize("capture", FIXTURE_CAPTURES, ids=NAMES)
def test_a_stream_that_grows_event_by_event_reads_the_same(capture: Capture) -> None:
    if len(capture.events) > 100:
        events = capture.events[:60]
        capture = Capture(header=capture.header, events=events)
    script = None if capture.header.script is None else list(capture.header.script)
    for truth in (None, script):
        assert looked_at(growing(capture, truth)) == looked_at(read(capture, truth=truth))


@given(st.sampled_from(sorted(HABITS)), st.integers(1, 9))
def test_served_streams_read_the_same_however_they_grow(habit: str, at_once: int) -> None:
    capture = serve(habit, encode(TEXT), at_once).capture
    assert looked_at(growing(capture)) == looked_at(read(capture))


def test_a_prompt_told_after_the_first_look_counts() -> None:
    first = json.dumps({"choices": [], "prompt_token_ids": encode("<|start|>assistant<|channel|>fi")})
    second = chat_chunk(encode("nal<|message|>x"), {"content": "x"})
    capture = Capture(header=Header(endpoint=Endpoint.CHAT), events=[Event(first), Event(second)])
    assert growing(capture).choice.transcript.messages[0].header.channel == "final"
    turned = Capture(header=Header(endpoint=Endpoint.CHAT), events=[Event(second), Event(first)])
    assert looked_at(growing(turned)) == looked_at(read(turned))


def test_a_stream_that_brings_its_own_start_reads_the_same_when_looked_at_before() -> None:
    text = "<|start|>assistant<|channel|>final<|message|>x<|return|>"
    capture = Capture(
        header=Header(endpoint=Endpoint.CHAT), events=[Event(chat_chunk(encode(text), {"content": "x"}))]
    )
    assert looked_at(growing(capture)) == looked_at(read(capture))
    assert growing(capture).choice.transcript.messages[0].header.recipient is None


def responses(*payloads: dict[str, Any]) -> Capture:
    return Capture(
        header=Header(endpoint=Endpoint.RESPONSES),
        events=[Event(json.dumps(payload)) for payload in payloads],
    )


def final(output: list[Any], **members: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"status": "completed", "output": output, **members}}


def evidences() -> Iterator[tuple[str, Capture, Evidence]]:
    chunk = chat_chunk(None, {"content": "x"})
    usage = json.dumps({"choices": [], "usage": {"completion_tokens": 3}})
    yield "nothing", Capture(header=Header(endpoint=Endpoint.CHAT), events=[Event(chunk)]), Evidence.NONE
    counted = Capture(header=Header(endpoint=Endpoint.CHAT), events=[Event(chunk), Event(usage)])
    yield "counts", counted, Evidence.USAGE
    item = {"type": "message", "content": [{"type": "output_text", "text": "x"}]}
    yield "a final object", responses(final([item])), Evidence.FINAL_OBJECT
    output_messages = [{"message": "x", "tokens": encode("<|message|>x")}]
    yield (
        "ids in the final object",
        responses(final([item], output_messages=output_messages)),
        Evidence.TOKEN_IDS,
    )
    ids = Capture(
        header=Header(endpoint=Endpoint.TOKENS), events=[Event("[200005, 17196]"), Event("[200008]")]
    )
    yield "a list of ids", ids, Evidence.TOKEN_IDS


@pytest.mark.parametrize(
    ("capture", "evidence"), [case[1:] for case in evidences()], ids=[case[0] for case in evidences()]
)
def test_the_strongest_evidence_is_named(capture: Capture, evidence: Evidence) -> None:
    assert read(capture).choice.evidence is evidence
    assert (read(capture).choice.generated() is not None) == (evidence is Evidence.TOKEN_IDS)


def test_truth_takes_the_place_of_what_the_stream_says() -> None:
    capture = Capture(header=Header(endpoint=Endpoint.CHAT), events=[Event(chat_chunk([1], {}))])
    choice = read(capture, truth=encode("<|channel|>final<|message|>Hi<|return|>")).choice
    assert choice.evidence is Evidence.GIVEN_IDS
    generated = choice.generated()
    assert generated is not None
    assert generated.content == "Hi"


@pytest.mark.parametrize(
    ("request_", "prompt_ids"),
    [
        ({"prompt": "<|start|>assistant<|channel|>fi"}, None),
        ({"prompt": encode("<|start|>assistant<|channel|>fi")}, None),
        ({}, encode("<|start|>assistant<|channel|>fi")),
    ],
)
def test_a_prompt_is_known_from_the_request_or_the_stream(
    request_: dict[str, Any], prompt_ids: list[int] | None
) -> None:
    choice = {"index": 0, "text": "x", "token_ids": encode("nal<|message|>x"), "prompt_token_ids": prompt_ids}
    header = Header(endpoint=Endpoint.COMPLETIONS, request=request_)
    reading = read(Capture(header=header, events=[Event(json.dumps({"choices": [choice]}))]))
    assert reading.choice.transcript.messages[0].header.channel == "final"


def test_fixtures_are_there() -> None:
    assert len(FIXTURE_CAPTURES) >= 15
    assert Path(FIXTURES).is_dir()
