"""A piece of a stream is judged by what is inside it: nobody lost what its author left out."""

import json
from dataclasses import replace
from typing import Any

import pytest

from inspector.analysis.audit.verdict import Level
from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header
from inspector.files.importers import sniff_and_read
from inspector.files.store import builtin, load
from inspector.inspection.inspection import Inspection, inspect
from inspector.protocol.wire.excerpt import Excerpt, excerpt_of
from tests.support.foreign import CHAT, RESPONSES, known, sse

_NO_DONE = "no_done"


def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'object': 'chat.completion.chunk', 'model': 'm', 'choices': [choice]})}\n\n"


def event(number: int, kind: str, **members: Any) -> str:
    payload = {"type": f"response.{kind}", "sequence_number": number, **members}
    return f"event: response.{kind}\ndata: {json.dumps(payload)}\n\n"


ROLE = chunk({"role": "assistant", "content": ""})
DELTAS = [
    event(at, "reasoning_text.delta", item_id="r", output_index=0, delta=str(at)) for at in (41, 42, 43)
]


def of(text: str) -> Inspection:
    (capture,) = sniff_and_read(text.encode(), "f")
    return inspect(capture)


@pytest.mark.parametrize(
    ("text", "excerpt"),
    [
        (chunk({"content": " was"}), Excerpt.BEGINNING),
        (chunk({"content": " was"}) + chunk({}, "stop") + "data: [DONE]\n\n", Excerpt.BEGINNING),
        ("".join(DELTAS), Excerpt.BEGINNING),
        ("".join(DELTAS[::2]), Excerpt.BEGINNING),
        (f"{ROLE}...\n\n{chunk({'content': 'Hi'}, 'stop')}data: [DONE]\n\n", Excerpt.INSIDE),
        (f"{ROLE}[...]\n{chunk({'content': 'Hi'})}", Excerpt.INSIDE),
        (ROLE, Excerpt.END),
        (event(0, "created", response={"id": "r"}), Excerpt.END),
        (
            ROLE.replace("data: ", "").strip() + "\n…\n" + chunk({}, "stop").replace("data: ", ""),
            Excerpt.INSIDE,
        ),
    ],
)
def test_a_piece_of_a_stream_accuses_nobody(text: str, excerpt: Excerpt) -> None:
    inspection = of(text)
    assert inspection.reading.excerpt is excerpt
    assert (inspection.findings, inspection.verdict.level) == ([], Level.UNKNOWN)
    assert "excerpt" in inspection.verdict.sentence
    assert ("broke off" in inspection.verdict.sentence) is (excerpt is Excerpt.END)
    assert not inspection.verdict.blame


def test_what_is_wrong_inside_a_piece_is_said() -> None:
    error = 'data: {"error": {"message": "boom", "code": 500}}\n\n'
    inspection = of(chunk({"content": " was"}) + error)
    assert [str(finding.code) for finding in inspection.findings] == ["server_error"]
    assert inspection.verdict.level is Level.ERROR
    assert inspection.verdict.why.startswith("An excerpt")


def test_a_recording_knows_how_its_connection_ended() -> None:
    (piece,) = sniff_and_read((ROLE + chunk({"content": "Hi"})).encode(), "f")
    broken = inspect(replace(piece, end=End(at_s=None, cut=True, detail="reset")))
    assert [str(finding.code) for finding in broken.findings] == ["cut"]
    assert broken.reading.excerpt is None
    tail = Capture(header=piece.header, events=piece.events[1:], end=End(at_s=None, cut=False))
    assert [str(finding.code) for finding in inspect(tail).findings] == ["cut"]


@pytest.mark.parametrize("name", [CHAT, RESPONSES])
def test_a_whole_stream_is_no_excerpt(name: str) -> None:
    assert of(sse(known(name)).decode()).reading.excerpt is None


STREAMS = [row.path for row in builtin() if "long" not in row.name]


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.name)
def test_no_piece_of_a_stream_has_a_finding_that_the_whole_has_not(path: Any) -> None:
    capture = load(path)
    codes_of_all = {str(finding.code) for finding in inspect(capture).findings}
    count = len(capture.events)
    step = max(count // 9, 1)
    pieces = [(0, end) for end in range(1, count, step)]
    pieces += [(start, count) for start in range(1, count, step)]
    pieces += [(start, start + 2 * step) for start in range(1, count, step)]
    for start, end in pieces:
        events = capture.events[start:end]
        if not any(event.kind is EventKind.SSE and event.data != "[DONE]" for event in events):
            continue
        inspection = of(sse(replace(capture, events=events)).decode())
        codes = {str(finding.code) for finding in inspection.findings}
        assert codes <= {*codes_of_all, _NO_DONE}
        assert inspection.verdict.level is not Level.CLEAN


@pytest.mark.parametrize(
    "event", [Event("{}", kind=EventKind.BODY), Event('{"choices": [5]}'), Event("no JSON"), Event("[DONE]")]
)
def test_what_is_no_chunk_does_not_show_that_something_is_before_it(event: Event) -> None:
    assert excerpt_of(Header(endpoint=Endpoint.CHAT), [event], None) is None
