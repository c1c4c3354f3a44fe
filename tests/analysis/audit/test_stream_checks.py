"""How the server's count is held against what it sent: what is doubted, and what need not be."""

import json
from typing import Any

import pytest

from inspector.analysis.audit import Code, Finding, Kind, audit
from inspector.analysis.audit.facts import UnexplainedCount
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.protocol.harmony.vocab import encode
from tests.support.every_code import answer, item, response
from tests.support.messages import capture_of
from tests.support.streams import CLOSED, chat

HI = 5
"""Tokens of an answer `Hi`: its header, the text, its end."""
THOUGHT = 5
"""Tokens of a reasoning `Hm`."""


def kinds(capture: Capture) -> list[Kind]:
    return [finding.kind for finding in audit(read(capture))]


def doubted(capture: Capture) -> list[Finding]:
    return [finding for finding in audit(read(capture)) if finding.code is Code.COUNT_UNEXPLAINED]


@pytest.mark.parametrize(("counted", "reported"), [(HI + 19, False), (HI + 20, True)])
def test_a_count_is_doubted_only_where_the_texts_leave_much_of_it_open(counted: int, reported: bool) -> None:
    findings = doubted(chat([("", {"content": "Hi"})], usage=counted, with_ids=False))
    assert [(finding.generated, finding.delivered) for finding in findings] == [
        (str(counted), str(HI))
    ] * reported


def test_borders_of_messages_that_the_deltas_join_are_no_loss() -> None:
    thought = "<|start|>assistant<|channel|>analysis<|message|>Hm<|end|>"
    text = f"{thought * 3}<|start|>assistant<|channel|>final<|message|>Hi<|return|>"
    joined = chat(
        [("", {"reasoning": "HmHmHm"}), ("", {"content": "Hi"})], usage=len(encode(text)) - 2, with_ids=False
    )
    assert doubted(joined) == []


@pytest.mark.parametrize(("counted", "reported"), [(THOUGHT + 2, False), (THOUGHT + 3, True)])
def test_where_no_answer_came_a_count_is_doubted_sooner(counted: int, reported: bool) -> None:
    findings = doubted(chat([("", {"reasoning": "Hm"})], usage=counted, with_ids=False))
    assert bool(findings) is reported


def test_what_the_token_limit_cut_off_is_in_no_field_and_no_loss() -> None:
    short = chat([("", {"content": "Hi"})], usage=500, with_ids=False, finish="length")
    assert kinds(short) == [Kind.TRUNCATED]


def test_the_text_of_a_plain_completion_accounts_for_no_count() -> None:
    choice = {"index": 0, "text": "Hi", "finish_reason": "stop"}
    data = json.dumps({"object": "text_completion", "choices": [choice], "usage": {"completion_tokens": 500}})
    header = Header(endpoint=Endpoint.COMPLETIONS, status=200)
    assert kinds(Capture(header=header, events=[Event(data), Event("[DONE]")], end=CLOSED)) == []


def test_a_header_that_output_items_leave_out_may_be_what_is_open() -> None:
    items = [item("reasoning", "Hm."), item("message", "Yes.")]
    header = "<|channel|>analysis{}<|message|>Hm.<|end|>"
    rest = "<|start|>assistant<|channel|>final<|message|>Yes.<|return|>"

    def findings_at(counted: int) -> list[Finding]:
        return doubted(response(items, [(0, "Hm."), (1, "Yes.")], usage={"output_tokens": counted}))

    assert findings_at(len(encode(header.format(" to=python code") + rest))) == []
    (finding,) = findings_at(len(encode(header.format(" to=python code") + rest)) - 1)
    assert isinstance(finding.facts, UnexplainedCount)
    assert finding.facts.fits == (" <|constrain|>json",)


@pytest.mark.parametrize(("open_", "reported"), [(7, False), (8, True)])
def test_a_text_that_cannot_be_encoded_again_leaves_some_tokens_open(open_: int, reported: bool) -> None:
    text = "Hi \ufffd"
    token_count = len(encode(f"<|channel|>final<|message|>{text}<|return|>"))
    findings = doubted(answer(text, text, usage={"output_tokens": token_count + open_}))
    assert bool(findings) is reported


@pytest.mark.parametrize(("kind", "reported"), [("text", True), ("server_tool_use", False)])
def test_what_a_tool_of_the_server_took_of_a_count_is_unknown(kind: str, *, reported: bool) -> None:
    block = {"type": kind, "text": ""} if kind == "text" else {"type": kind, "id": "1", "name": "web_search"}
    query = {"type": "input_json_delta", "partial_json": '{"query":"weather"}'}
    words = {"type": "text_delta", "text": "weather"}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "msg_1", "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": words if kind == "text" else query},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 900}},
        {"type": "message_stop"},
    ]
    assert (Kind.COUNT_MISMATCH in kinds(capture_of(events))) is reported
