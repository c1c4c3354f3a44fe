"""Streams count only if the engine's log and the wire follow the schedule."""

import json
from pathlib import Path
from typing import Any

import pytest

from harmony_lab.standin.checking import chunking_fault, request_id_of
from harmony_lab.standin.serving import EngineProcess, is_request
from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header

STEPS = [[1], [2, 3, 4], [5, 200002]]


def engine(folder: Path, *lines: dict[str, Any]) -> EngineProcess:
    log = folder / "steps.jsonl"
    whole = {"id": "chatcmpl-1-ab", "script": "plain", "schedule": "3", "streamed": True, "end": "stop"}
    rows = [{**whole, "steps": STEPS, "taken": [1, 3, 2], **line} for line in lines]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return EngineProcess([], variables={}, errors=folder / "errors.log", steps_log=log)


def capture(*ids: list[int], stream: bool = True, status: int = 200, own: str = "chatcmpl-1") -> Capture:
    header = Header(endpoint=Endpoint.CHAT, request={"stream": stream}, status=status)
    events = [
        Event(
            json.dumps(
                {
                    "id": own,
                    "object": "chat.completion.chunk",
                    "choices": [{"index": 0, "delta": {"content": "x"}, "token_ids": event_ids}],
                }
            ),
            0.1,
        )
        for event_ids in ids
    ]
    return Capture(header=header, events=events, end=End(at_s=0.2, cut=False))


def test_chunking_fault_none_for_scheduled_steps(tmp_path: Path) -> None:
    assert chunking_fault(engine(tmp_path, {}), capture(*STEPS), "3") is None


def test_chunking_fault_allows_skipped_steps_and_an_early_end(tmp_path: Path) -> None:
    broken = engine(tmp_path, {"taken": [1, 3], "end": "aborted by the API server"})
    assert chunking_fault(broken, capture([2, 3, 4]), "3") is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"schedule": "1"}, "the engine followed the schedule 1, not 3"),
        ({"steps": [[1], [2, 3], [4, 5, 200002]], "taken": None}, "sent steps of 1, 2, 3 tokens instead of"),
        ({"taken": [1, 5]}, "the server took 1, 5 tokens at a time instead of 1, 3, 2"),
        ({"id": "chatcmpl-2-ab"}, "the engine's log has no stream chatcmpl-1"),
    ],
)
def test_chunking_fault_of_other_steps(
    tmp_path: Path, line: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harmony_lab.standin.serving._LOG_WAIT_S", 0.0)
    fault = chunking_fault(engine(tmp_path, line), capture(*STEPS), "3")
    assert fault is not None
    assert words in fault


def test_chunking_fault_of_merged_events(tmp_path: Path) -> None:
    merged = capture([1], [2, 3, 4, 5, 200002])
    assert chunking_fault(engine(tmp_path, {"taken": None}), merged, "3") == (
        "the 5 token IDs of event 1 are not those of one step"
    )


def test_chunking_fault_ignores_unstreamed_and_rejected_requests(tmp_path: Path) -> None:
    no_steps = engine(tmp_path)
    assert chunking_fault(no_steps, capture(stream=False), "3") is None
    assert chunking_fault(no_steps, capture(status=400), "3") is None


def test_request_id_of() -> None:
    assert request_id_of(capture([1])) == "chatcmpl-1"
    created = Event(json.dumps({"type": "response.created", "response": {"id": "resp_1"}}), 0.1)
    header = Header(endpoint=Endpoint.RESPONSES)
    comment = Event("hello", 0.1, kind=EventKind.COMMENT)
    assert request_id_of(Capture(header=header, events=[comment, Event("{", 0.1), created])) == "resp_1"
    assert request_id_of(Capture(header=header, events=[Event("[DONE]", 0.1)])) is None


@pytest.mark.parametrize(
    ("of_engine", "own", "belongs"),
    [
        ("chatcmpl-1", "chatcmpl-1", True),
        ("chatcmpl-1-9249b249", "chatcmpl-1", True),
        ("resp_1_0-9adf9c1c", "resp_1", True),
        ("1_chatcmpl-1-ab", "chatcmpl-1", True),
        ("chatcmpl-12-ab", "chatcmpl-1", False),
    ],
)
def test_is_request(of_engine: str, own: str, belongs: bool) -> None:
    assert is_request(of_engine, own) is belongs
