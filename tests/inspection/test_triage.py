"""Whether a file or pasted text is a capture or plain text; the page and the command give the same result."""

import json
from pathlib import Path

import pytest

from inspector.analysis.reading import read
from inspector.capture.errors import CaptureError
from inspector.files.store import loads
from inspector.inspection.inspection import examine
from inspector.inspection.triage import of_content
from inspector.issues import DiagnosisOutcome, diagnose_capture
from inspector.protocol.harmony.vocab import encode

ROOT = Path(__file__).parents[2]
CALLED = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "openai/gpt-oss-120b",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [],
                "reasoning_content": "We need to call get_weather.",
            },
            "finish_reason": "stop",
            "stop_reason": 200012,
        }
    ],
    "usage": {"prompt_tokens": 133, "total_tokens": 161, "completion_tokens": 28},
}


def answer(arguments: str) -> bytes:
    call = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": arguments}}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": None, "tool_calls": [call]},
        "finish_reason": "tool_calls",
    }
    return json.dumps({"id": "x", "object": "chat.completion", "choices": [choice]}).encode()


def streamed(arguments: str) -> bytes:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    deltas = [({"tool_calls": [call]}, None), ({}, "tool_calls")]
    chunks = [
        {
            "id": "x",
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": end, "stop_reason": None}],
        }
        for delta, end in deltas
    ]
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode() + b"data: [DONE]\n\n"


def test_a_capture_is_diagnosed_by_its_findings() -> None:
    content = (ROOT / "fixtures" / "chat-tool-call-leak-vllm-0.14.1.jsonl").read_bytes()
    diagnosis, capture = of_content(content, "leak")
    assert capture is not None
    assert diagnosis.answers[0].issue.id == "chat-stream-multi-channel-chunk"


def test_what_no_finding_explains_may_show_in_the_text_of_the_response() -> None:
    diagnosis, capture = of_content(json.dumps(CALLED).encode(), "dump")
    assert capture is not None
    assert diagnosis.answers[0].issue.id == "tool-parser-flags-missing"


def test_words_of_the_model_in_a_complete_response_accuse_nobody() -> None:
    said = "Unexpected token 200002 while expecting start token 200006"
    ids = [200005, 17196, 200008, *encode(said), 200002]
    diagnosis, _ = of_content(json.dumps(ids).encode(), "ids")
    assert diagnosis.outcome is DiagnosisOutcome.NOTHING
    assert diagnosis.proven


def test_a_list_of_token_ids_is_a_capture() -> None:
    diagnosis, capture = of_content(b"200005 35644 200008 1844 200007 200007 200006 173781", "ids")
    assert capture is not None
    assert diagnosis.answers[0].issue.id == "end-after-end"


def test_a_capture_without_evidence_is_not_called_free_of_failures() -> None:
    message = {"role": "assistant", "content": "Hello."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    content = json.dumps({"id": "x", "object": "chat.completion", "choices": [choice]}).encode()
    diagnosis, _ = of_content(content, "dump")
    assert diagnosis.outcome is DiagnosisOutcome.NOTHING
    assert not diagnosis.proven
    assert "lost text cannot be detected" in diagnosis.sentence
    assert "`return_token_ids: true`" in diagnosis.next_step


def test_broken_arguments_without_token_ids_blame_nobody_for_certain() -> None:
    diagnosis, _ = of_content(answer('{"city": "Par'), "dump")
    assert diagnosis.answers[0].issue.id == "invalid-json-tool-arguments"
    assert diagnosis.sentence.startswith("Possibly at fault: the model output.")


def test_streamed_arguments_that_lack_their_beginning_look_like_a_loss_of_the_server() -> None:
    diagnosis, _ = of_content(streamed('city":"Paris"}'), "dump")
    assert diagnosis.answers[0].issue.id == "stream-interval-tool-arguments"
    assert diagnosis.sentence.startswith("Possibly at fault: the server parser.")


def test_a_failure_without_an_entry_says_how_to_get_evidence() -> None:
    reading = read(loads(json.dumps(CALLED).encode(), "dump"))
    findings = diagnose_capture(examine(reading).findings, reading)
    assert findings.outcome is DiagnosisOutcome.UNKNOWN
    assert "`return_token_ids: true`" in findings.next_step


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b"2026-11-23 05:00:00 all is well"])
def test_anything_else_is_text(content: bytes) -> None:
    diagnosis, capture = of_content(content, "text")
    assert capture is None
    assert diagnosis.outcome is DiagnosisOutcome.NOTHING


def test_a_broken_capture_and_several_are_refused() -> None:
    with pytest.raises(CaptureError):
        of_content(b'{"harmony_capture": "x"}\n', "broken")
    one = (ROOT / "fixtures" / "chat-whole-vllm-0.14.1.jsonl").read_bytes()
    with pytest.raises(CaptureError, match="split the file"):
        of_content(one + one, "two")
