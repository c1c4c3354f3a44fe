"""The verdict and the field table agree: no red row beside a green verdict, no unknown text called equal."""

import json
import zipfile

import pytest

from inspector.audit import Code, FieldState, Kind, explain, field_texts
from inspector.audit.verdict import Level
from inspector.capture import Capture
from inspector.harmony.vocab import encode
from inspector.importers import sniff_and_read
from inspector.inspection import Inspection, inspect
from inspector.store import FIXTURES, builtin, load, loads
from tests.support.streams import GOOD, LEAK, chat

RUNS = ("0.12.0-si3", "0.14.1-si3", "0.23.0-si1", "0.32.0-si1")


def archived(run: str, *members: str) -> list[Capture]:
    with zipfile.ZipFile(FIXTURES / "matrix" / f"vllm-cpu-{run}.zip") as archive:
        names = [f"{member}.jsonl" for member in members] or archive.namelist()
        return [loads(archive.read(name), name)[0] for name in names]


def states(seen: Inspection) -> dict[str, FieldState]:
    choice = seen.reading.choice
    return {one.field: one.state for one in field_texts(seen.reading, choice, seen.findings)}


def contradicts(seen: Inspection) -> bool:
    rows = [
        one for choice in seen.reading.choices for one in field_texts(seen.reading, choice, seen.findings)
    ]
    red = any(one.state is FieldState.DIFFERENT for one in rows)
    hidden = any(one.state is FieldState.UNKNOWN and one.generated is not None for one in rows)
    return (red and seen.verdict.level not in {Level.ERROR, Level.WARNING}) or (
        hidden and seen.verdict.level is Level.CLEAN
    )


@pytest.mark.parametrize("run", RUNS)
def test_no_field_of_the_matrix_is_red_beside_a_green_verdict(run: str) -> None:
    seen = [inspect(capture, name=run) for capture in archived(run)]
    assert len(seen) > 200
    assert [one.capture.header.request for one in seen if contradicts(one)] == []


def test_no_field_of_a_fixture_is_red_beside_a_green_verdict() -> None:
    assert [one.name for one in builtin() if contradicts(inspect(load(one.path)[0]))] == []


def test_a_leak_is_different_in_both_fields_and_a_whole_text_is_equal() -> None:
    assert set(states(inspect(chat(LEAK))).values()) == {FieldState.DIFFERENT}
    assert set(states(inspect(chat(GOOD))).values()) == {FieldState.EQUAL}


def test_special_tokens_and_half_characters_are_left_out_on_purpose() -> None:
    plain, half = archived("0.32.0-si1", "completions-plain", "chat-half_character_at_end")
    assert states(inspect(plain)) == {"text": FieldState.LEFT_OUT}
    assert states(inspect(half)) == {"reasoning": FieldState.EQUAL, "content": FieldState.LEFT_OUT}


def test_text_without_a_field_is_told_in_the_verdict_too() -> None:
    (call,) = archived("0.23.0-si1", "chat-python_call")
    seen = inspect(call)
    assert states(seen) == {"reasoning": FieldState.NO_FIELD}
    assert seen.verdict.level is Level.CLEAN
    assert seen.verdict.sentence.endswith("; text without an API field arrived in the reasoning.")


def test_fields_without_token_evidence_are_unknown() -> None:
    seen = inspect(chat(GOOD, with_ids=False))
    assert set(states(seen).values()) == {FieldState.UNKNOWN}
    assert FieldState.UNKNOWN.equal is None


def id_list(text: str) -> Inspection:
    (capture,) = sniff_and_read(json.dumps(encode(text)).encode(), "ids.json")
    return inspect(capture)


def test_a_list_of_ids_has_no_delivered_side() -> None:
    seen = id_list(
        "<|channel|>analysis<|message|>Think.<|end|><|start|>assistant<|channel|>final<|message|>Hi.<|return|>"
    )
    assert seen.verdict.level is Level.CLEAN
    rows = field_texts(seen.reading, seen.reading.choice, seen.findings)
    assert [(one.field, one.generated, one.delivered, one.state.equal) for one in rows] == [
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
    seen = id_list(text)
    (finding,) = seen.findings
    assert (finding.kind, finding.code) == (Kind.UNKNOWN_HEADER, code)
    assert named in explain(finding)
    assert seen.verdict.level is Level.WARNING
    assert seen.cause is not None
    assert seen.cause.id == cause


def test_a_whole_conversation_in_a_list_of_ids_has_no_unknown_header() -> None:
    seen = id_list(
        "<|start|>system<|message|>You are ChatGPT.<|end|><|start|>user<|message|>Weather?<|end|>"
        "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
        "<|start|>functions.f to=assistant<|channel|>commentary<|message|>20<|end|>"
        "<|start|>python to=assistant<|channel|>analysis<|message|>42<|end|>"
        "<|start|>assistant<|channel|>final<|message|>20 degrees.<|return|>"
    )
    assert not seen.findings
    assert seen.verdict.level is Level.CLEAN
