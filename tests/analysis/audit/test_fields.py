"""The verdict and the field table agree: no red row beside a green verdict, no unknown text called equal."""

import json
import zipfile
from collections.abc import Sequence

import pytest

from inspector.analysis.audit import Code, FieldState, FieldTexts, Kind, explain
from inspector.analysis.audit.verdict import Level, Verdict
from inspector.capture.capture import Capture, Endpoint, Event, EventKind, Header
from inspector.files.importers import sniff_and_read
from inspector.files.store import FIXTURES, builtin, load, loads
from inspector.inspection.inspection import Inspection, inspect
from inspector.matrix.results import MatrixRun, all_runs
from inspector.protocol.harmony.vocab import encode
from tests.support.matrix import inspections_of
from tests.support.streams import CLEAN, CLOSED, LEAK, Step, chat


def archived(run: str, *members: str) -> list[Capture]:
    with zipfile.ZipFile(FIXTURES / "matrix" / f"vllm-cpu-{run}.zip") as archive:
        return [loads(archive.read(f"{member}.jsonl"), member) for member in members]


def states(inspection: Inspection) -> dict[str, FieldState]:
    choice = inspection.reading.choice
    return {field.field: field.state for field in inspection.fields(choice)}


def contradicts(verdict: Verdict, rows: Sequence[FieldTexts]) -> bool:
    red = any(row.state is FieldState.DIFFERENT for row in rows)
    hidden = any(row.state is FieldState.UNKNOWN and row.generated is not None for row in rows)
    return (red and verdict.level not in {Level.ERROR, Level.WARNING}) or (
        hidden and verdict.level is Level.CLEAN
    )


@pytest.mark.sweep
@pytest.mark.parametrize("run", all_runs(), ids=lambda run: run.name)
def test_no_field_of_the_matrix_is_red_beside_a_green_verdict(run: MatrixRun) -> None:
    captures = inspections_of(run)
    assert len(captures) > 200
    assert [capture.script.name for capture in captures if contradicts(capture.verdict, capture.fields)] == []


def test_no_field_of_a_fixture_is_red_beside_a_green_verdict() -> None:
    for fixture in builtin():
        inspection = inspect(load(fixture.path))
        rows = [row for choice in inspection.reading.choices for row in inspection.fields(choice)]
        assert not contradicts(inspection.verdict, rows), fixture.name


def test_a_leak_is_different_in_both_fields_and_a_whole_text_is_equal() -> None:
    assert set(states(inspect(chat(LEAK))).values()) == {FieldState.DIFFERENT}
    assert set(states(inspect(chat(CLEAN))).values()) == {FieldState.EQUAL}


def test_special_tokens_and_half_characters_are_left_out_on_purpose() -> None:
    plain, half = archived("0.32.0-si1", "completions-plain", "chat-half_character_at_end")
    assert states(inspect(plain)) == {"text": FieldState.LEFT_OUT}
    assert states(inspect(half)) == {"reasoning": FieldState.EQUAL, "content": FieldState.LEFT_OUT}


def test_text_without_a_field_is_told_in_the_verdict_too() -> None:
    (call,) = archived("0.23.0-si1", "chat-python_call")
    inspection = inspect(call)
    assert states(inspection) == {"reasoning": FieldState.NO_FIELD}
    assert inspection.verdict.level is Level.WARNING
    assert [finding.code for finding in inspection.findings] == [Code.ENDED_WITH_UNSHOWN_CALL]


def test_a_call_that_is_lost_whole_differs_also_in_its_name() -> None:
    (call,) = archived("0.13.0-si3", "chat-call_empty")
    inspection = inspect(call)
    assert inspection.verdict.sentence.endswith("the server lost tool call 1 (“get_time”).")
    assert states(inspection) == {"tool_calls[0].name": FieldState.DIFFERENT}


def test_items_that_differ_from_the_final_object_are_no_fault_of_a_text() -> None:
    (call,) = archived("0.23.0-si1", "responses-python_call")
    inspection = inspect(call)
    assert inspection.verdict.sentence.startswith("The stream violates")
    assert set(states(inspection).values()) == {FieldState.ITEMS_DIFFER}
    assert all(state.equal for state in states(inspection).values())


def test_fields_without_token_evidence_are_unknown() -> None:
    inspection = inspect(chat(CLEAN, with_ids=False))
    assert set(states(inspection).values()) == {FieldState.UNKNOWN}
    assert FieldState.UNKNOWN.equal is None


def id_list(text: str) -> Inspection:
    (capture,) = sniff_and_read(json.dumps(encode(text)).encode(), "ids.json")
    return inspect(capture)


def test_text_whose_ids_a_server_left_out_is_unknown_and_not_different() -> None:
    steps: list[Step] = [("final<|message|>Hi", {"content": "Hi"}), ("", {"content": " there"})]
    assert states(inspect(chat(steps, version="0.12.0"))) == {"content": FieldState.UNKNOWN}
    assert states(inspect(chat(steps, version="0.13.0", counted=True))) != {"content": FieldState.UNKNOWN}


def test_a_list_of_ids_has_no_delivered_side() -> None:
    inspection = id_list(
        "<|channel|>analysis<|message|>Think.<|end|><|start|>assistant<|channel|>final<|message|>Hi.<|return|>"
    )
    assert inspection.verdict.level is Level.CLEAN
    rows = inspection.fields(inspection.reading.choice)
    assert [(row.field, row.generated, row.delivered, row.state.equal) for row in rows] == [
        ("reasoning", "Think.", None, None),
        ("content", "Hi.", None, None),
    ]


@pytest.mark.parametrize(
    ("text", "code", "named", "cause"),
    [
        ("<|channel|>thoughts<|message|>Hm.<|end|>", Code.CHANNEL_UNKNOWN, "“thoughts”", "unknown-channel"),
        ("<|message|>Hi.<|return|>", Code.CHANNEL_UNKNOWN, "has no channel", "unknown-channel"),
        (
            "<|channel|>analysis<|message|>A.<|end|><|start|>assistantary to=functions.f<|channel|>commentary"
            "<|message|>{}<|call|>",
            Code.ROLE_UNKNOWN,
            "“assistantary”",
            "unknown-role-glued-text",
        ),
    ],
)
def test_an_unknown_channel_or_role_in_a_list_of_ids_is_a_warning(
    text: str, code: Code, named: str, cause: str
) -> None:
    inspection = id_list(text)
    (finding,) = inspection.findings
    assert (finding.kind, finding.code) == (Kind.UNKNOWN_HEADER, code)
    assert named in explain(finding)
    assert inspection.verdict.level is Level.WARNING
    assert inspection.cause is not None
    assert inspection.cause.id == cause


def test_a_whole_conversation_in_a_list_of_ids_has_no_unknown_header() -> None:
    inspection = id_list(
        "<|start|>system<|message|>You are ChatGPT.<|end|><|start|>user<|message|>Weather?<|end|>"
        "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
        "<|start|>functions.f to=assistant<|channel|>commentary<|message|>20<|end|>"
        "<|start|>python to=assistant<|channel|>analysis<|message|>42<|end|>"
        "<|start|>assistant<|channel|>final<|message|>20 degrees.<|return|>"
    )
    assert not inspection.findings
    assert inspection.verdict.level is Level.CLEAN


def test_messages_that_an_unstreamed_response_joins_are_the_same_text_in_another_form() -> None:
    thought = "<|channel|>analysis<|message|>{}<|end|><|start|>assistant"
    answer = "<|channel|>final<|message|>Hi<|return|>"
    ids = encode(thought.format("One.") + thought.format("Two.") + answer)
    message = {"role": "assistant", "content": "Hi", "reasoning": "One.\nTwo."}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop", "token_ids": ids}]}
    event = Event(json.dumps(body), 0.1, "", EventKind.BODY)
    joined = inspect(Capture(header=Header(endpoint=Endpoint.CHAT, status=200), events=[event], end=CLOSED))
    assert joined.verdict.level is Level.CLEAN
    assert states(joined) == {"reasoning": FieldState.REWRITTEN, "content": FieldState.EQUAL}
