"""Whether a file or pasted text is a capture or plain text; the page and the command give the same result."""

import json
from pathlib import Path

import pytest

from inspector.analysis.reading import read
from inspector.capture.errors import CaptureError
from inspector.files.store import loads
from inspector.inspection.inspection import diagnose, examine
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
    deltas = [({"role": "assistant", "tool_calls": [call]}, None), ({}, "tool_calls")]
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


def test_a_text_with_a_cause_comes_before_findings_that_lead_only_to_a_general_issue() -> None:
    message = {"role": "assistant", "content": None, "reasoning": "We need to call it."}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "stop_reason": 200012}
    body = CALLED | {"choices": [choice], "usage": {"prompt_tokens": 133, "completion_tokens": 60}}
    by_findings = diagnose(examine(read(loads(json.dumps(body)))))
    assert [answer.issue.id for answer in by_findings.answers] == ["silent-loss-0-32"]
    diagnosis, capture = of_content(json.dumps(body).encode(), "body.json")
    assert diagnosis.answers[0].issue.id == "tool-parser-flags-missing"
    assert capture is not None


def test_words_of_the_model_in_a_complete_response_accuse_nobody() -> None:
    quoted_error = "Unexpected token 200002 while expecting start token 200006"
    ids = [200005, 17196, 200008, *encode(quoted_error), 200002]
    diagnosis, _ = of_content(json.dumps(ids).encode(), "ids")
    assert diagnosis.outcome is DiagnosisOutcome.NOTHING
    assert diagnosis.proven


def test_a_list_of_token_ids_is_a_capture() -> None:
    diagnosis, capture = of_content(b"200005 35644 200008 1844 200007 200007 200006 173781", "ids")
    assert capture is not None
    assert diagnosis.answers[0].issue.id == "end-after-end"


def test_a_response_in_an_issue_is_diagnosed_where_its_text_says_nothing() -> None:
    response = json.dumps(CALLED, indent=2)
    pasted_dump, _ = of_content(response.encode(), "dump")
    text = f"### What happens\n\nNo call arrives.\n\n```json\n{response}\n```\n"
    diagnosis, _ = of_content(text.encode(), "issue.md")
    assert diagnosis.answers[0].issue.id == pasted_dump.answers[0].issue.id
    cut = answer('{"city": "Par').decode()
    broken = f"Why?\n\n```json\n{cut}\n```\n"
    diagnosis, capture = of_content(broken.encode(), "issue.md")
    assert capture is not None
    assert diagnosis.answers[0].issue.id == "invalid-json-tool-arguments"
    harmless = f"Fine.\n\n```json\n{answer('{}').decode()}\n```\n"
    assert of_content(harmless.encode(), "issue.md")[1] is None


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
    content = (ROOT / "fixtures" / "chat-whole-vllm-0.14.1.jsonl").read_bytes()
    with pytest.raises(CaptureError, match="split the file"):
        of_content(content + content, "two")


def response(fingerprint: str = "vllm-0.27.1-tp1", **message: object) -> str:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    served = {"id": "x", "object": "chat.completion", "system_fingerprint": fingerprint}
    return json.dumps({**served, "choices": [choice]})


UNPARSED = (
    "<|channel|>analysis<|message|>Find it.<|end|>"
    "<|start|>assistant<|channel|>final<|message|>Oslo.<|return|>"
)
STRIPPED = "analysisFind it.assistantfinalOslo."


@pytest.mark.parametrize(
    ("message", "issue"),
    [
        ({"content": UNPARSED}, "harmony-not-parsed"),
        ({"content": UNPARSED.replace("<|end|>", "").replace("<|return|>", "")}, "harmony-not-parsed"),
        ({"content": STRIPPED}, "harmony-not-parsed"),
        ({"content": "Oslo.<|return|>"}, "harmony-not-parsed"),
        ({"content": '{"city": "Oslo"}<|return|>'}, "grammar-blocks-harmony"),
        (
            {"content": "Oslo.", "reasoning": "Find it.<|start|>assistant<|channel|>final<|message|>Oslo."},
            "control-tokens-in-content",
        ),
    ],
)
def test_the_form_of_harmony_in_a_text_decides_the_cause(message: dict[str, str], issue: str) -> None:
    diagnosis, _ = of_content(response(**message).encode(), "dump")
    assert diagnosis.answers[0].issue.id == issue


def test_a_server_that_prints_no_stop_tokens_shows_nothing_by_their_absence() -> None:
    reasoning = "Find it.<|start|>assistant<|channel|>final<|message|>Oslo."
    content = response("b9311-4f2a7c1d", content="Oslo.", reasoning_content=reasoning)
    diagnosis, _ = of_content(content.encode(), "dump")
    assert diagnosis.answers == ()
    assert diagnosis.failures


@pytest.mark.parametrize(
    "name", ["find_city<|channel|>commentary", "find_cityjson", "find_city<|constrain|>"]
)
def test_a_piece_of_a_header_in_a_name_is_known(name: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}
    tool = {"type": "function", "function": {"name": "find_city", "parameters": {}}}
    request = {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [tool]}
    body = json.loads(response(content=None, tool_calls=[call]))
    diagnosis, _ = of_content(json.dumps({"request": request, "response": body}).encode(), "dump")
    first = "header-in-tool-name" if name.endswith("json") else "tool-name-channel-leak"
    assert diagnosis.answers[0].issue.id == first


def test_a_piece_of_a_header_in_a_name_asks_an_unknown_server_for_no_release() -> None:
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "find_city<|channel|>final", "arguments": "{}"},
    }
    diagnosis, _ = of_content(response("", content=None, tool_calls=[call]).encode(), "dump")
    assert diagnosis.answers[0].issue.id == "header-in-tool-name"
    assert "vLLM" not in " ".join(diagnosis.steps_for(diagnosis.answers[0].issue))


def test_a_request_for_unparsed_text_is_its_cause() -> None:
    request = {"model": "m", "messages": [], "separate_reasoning": False}
    content = json.dumps({"request": request, "response": json.loads(response(content=UNPARSED))})
    diagnosis, _ = of_content(content.encode(), "dump")
    assert diagnosis.answers[0].issue.id == "separate-reasoning-off"


QUOTED = {
    "a fenced response": f"It says:\n```json\n{response(content=UNPARSED)}\n```\nWhy?",
    "JSON of a log": f"DEBUG body {json.dumps({'content': UNPARSED})}",
    "JSON within JSON": json.dumps({"log": json.dumps({"content": STRIPPED})}) + " at 10:00",
    "a Python object": f"got Message(role='assistant', content={STRIPPED!r})",
}


@pytest.mark.parametrize("text", QUOTED.values(), ids=QUOTED)
def test_a_response_that_a_text_quotes_is_judged_like_the_response(text: str) -> None:
    diagnosis, capture = of_content(text.encode(), "post")
    assert capture is not None
    assert diagnosis.answers[0].issue.id == "harmony-not-parsed"


def test_the_release_that_a_text_names_is_that_of_the_response_it_quotes() -> None:
    text = f"gpt-oss on vLLM 0.27.1\n```\n{response('', content=UNPARSED)}\n```"
    diagnosis, _ = of_content(text.encode(), "post")
    assert diagnosis.version == "0.27.1"


@pytest.mark.parametrize(
    "text",
    [
        '{"role": "user", "content": "What does <|channel|> mean?"}, said the log',
        f'openai_harmony.HarmonyError: Unknown role: assistantary\ncontent="{STRIPPED}"',
        f"```\n{response(content='Oslo.')}\n```",
        "content='" * 7000,
    ],
    ids=["prose", "a message of the parser", "a healthy response", "hostile"],
)
def test_a_text_that_quotes_no_faulty_response_stays_a_text(text: str) -> None:
    assert of_content(text.encode(), "post")[1] is None


def test_a_short_text_of_any_encoding_is_read_as_a_log_is() -> None:
    text = "openai_harmony.HarmonyError: Unknown role: assistantary"
    assert of_content(text.encode("utf-16"), "post")[0].outcome is DiagnosisOutcome.KNOWN
