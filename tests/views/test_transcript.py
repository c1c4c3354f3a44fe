"""The picture of Harmony that a server passed through: all cells of all messages arrive in one lane."""

import json
from random import Random

import inspector
from inspector.analysis.audit import Code
from inspector.capture.capture import Capture, Endpoint, Event, EventKind, Header
from inspector.protocol.harmony.text import text_of
from inspector.views.audit_result import AuditResult
from inspector.views.strip import strip
from tests.support.pictures import check, lane_text
from tests.support.random_scripts import parsed, random_script


def answered(content: str) -> Capture:
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    body = Event(data=json.dumps({"choices": [choice]}), kind=EventKind.BODY)
    return Capture(header=Header(endpoint=Endpoint.CHAT), events=[body])


def test_each_part_of_a_transcript_falls_into_the_field_that_has_it() -> None:
    drawn = 0
    for seed in range(120):
        ids = random_script(Random(seed))  # noqa: S311
        text = text_of(ids)
        inspection = inspector.inspect(answered(text))
        check(inspection)
        if not any(finding.code is Code.TRANSCRIPT_UNPARSED for finding in inspection.findings):
            continue
        payload = strip(inspection, key="key")
        (picture,) = payload["pipelines"]
        if parsed(ids).rejected:
            continue
        lanes = {lane["field"]: lane_text(payload, lane) for lane in picture["lanes"]}
        assert lanes.pop("content") == text
        assert set(lanes.values()) <= {""}
        drawn += bool(lanes)
    assert drawn > 20


def test_text_outside_messages_is_drawn_as_delivered() -> None:
    inspection = inspector.inspect(answered("\n<|channel|>final<|message|>Hi<|end|>?<|start|>assistant"))
    check(inspection)
    (picture,) = strip(inspection, key="key")["pipelines"]
    assert len(picture["lanes"]) == 1


def test_the_fields_have_what_the_transcript_has() -> None:
    text = (
        "<|channel|>analysis<|message|>Add.<|start|>assistant"
        "<|channel|>commentary to=functions.add<|message|>{}"
    )
    inspection = inspector.inspect(answered(text))
    rows = {row.field: (row.label, row.generated, row.state.equal) for row in AuditResult(inspection).fields}
    assert rows == {
        "reasoning": ("reasoning", "Add.", False),
        "content": ("answer", "", False),
        "tool_calls[0].name": ("add: name", "add", False),
        "tool_calls[0].arguments": ("add(…)", "{}", False),
    }
    (picture,) = strip(inspection, key="key")["pipelines"]
    assert [lane["label"] for lane in picture["lanes"]] == ["answer", "reasoning", "add(…)"]
