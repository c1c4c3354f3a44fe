"""Tool calls: lost, shifted, broken, under the wrong index or name."""

from collections.abc import Mapping
from typing import Any

import pytest

from inspector.analysis.audit import Kind, Severity, explain
from inspector.capture.capture import Capture
from inspector.inspection.inspection import inspect
from tests.support.audits import asked, brief, call, changed, findings_of, opened, text_step
from tests.support.streams import Step, chat

CALLS: list[Step] = [
    (opened("f"), call(0, "", "f")),
    ('{"a":', call(0, '{"a":')),
    ("1}", call(0, "1}")),
    ("<|call|>", {}),
    (opened("g", first=False), call(1, "", "g")),
    ('{"b":', call(1, '{"b":')),
    ("2}", call(1, "2}")),
    ("<|call|>", {}),
]


def calls(**steps: Mapping[str, Any]) -> Capture:
    table = [(text, steps.get(f"_{number}", delta)) for number, (text, delta) in enumerate(CALLS)]
    return chat(table, finish="tool_calls")


def test_two_whole_calls_have_no_finding() -> None:
    assert findings_of(calls()) == []


def test_the_end_of_a_call_under_the_next_index_is_misrouted_and_breaks_the_arguments() -> None:
    findings = findings_of(calls(_2=call(1, "1}")))
    assert (Kind.MISROUTED, "tool_calls[0].arguments", "1}", "1}") in brief(findings)
    assert {finding.kind for finding in findings} == {Kind.MISROUTED, Kind.INVALID_TOOL_ARGUMENTS}


def test_the_end_of_a_call_under_an_index_without_a_name_is_not_told_twice() -> None:
    findings = findings_of(chat([*CALLS[:2], ("1}<|call|>", call(1, "1}"))], finish="tool_calls"))
    assert {finding.kind for finding in findings} == {Kind.MISROUTED, Kind.INVALID_TOOL_ARGUMENTS}
    assert [finding.delivered_in for finding in findings if finding.delivered_in] == [
        "tool_calls[1].arguments"
    ]


def test_a_lost_call_is_one_finding_and_the_shift_of_the_next_one_is_none() -> None:
    capture = calls(_0={}, _1={}, _2={}, _4=call(0, "", "g"), _5=call(0, '{"b":'), _6=call(0, "2}"))
    (finding,) = findings_of(capture)
    assert brief([finding]) == [(Kind.DROPPED, "tool_calls[0].arguments", '{"a":1}', "")]
    assert "call of “f”" in explain(finding)


@pytest.mark.parametrize("lost", [0, 1])
def test_of_two_equal_calls_the_event_tells_which_is_lost(lost: int) -> None:
    head = "<|start|>assistant<|channel|>commentary to=functions.f json<|message|>{}"
    steps: list[Step] = [
        (head.removeprefix("<|start|>assistant"), {}),
        ("<|call|>", {}),
        (head, {}),
        ("<|call|>", {}),
    ]
    delivered_step = 2 * (1 - lost)
    steps[delivered_step] = (steps[delivered_step][0], call(0, "{}", "f"))
    (finding,) = findings_of(chat(steps))
    assert (finding.kind, finding.field) == (Kind.DROPPED, f"tool_calls[{lost}].arguments")
    assert finding.event_start == 2 * lost


def test_calls_counted_from_one_are_told_as_protocol() -> None:
    capture = calls(
        _0=call(1, "", "f"), _1=call(1, '{"a":'), _2=call(1, "1}"),
        _4=call(2, "", "g"), _5=call(2, '{"b":'), _6=call(2, "2}"),
    )  # fmt: skip
    assert [finding.kind for finding in findings_of(capture)] == [Kind.PROTOCOL]


def test_arguments_that_lose_a_token_are_dropped_and_no_json() -> None:
    findings = findings_of(calls(_1={}))
    assert brief(findings) == [
        (Kind.DROPPED, "tool_calls[0].arguments", '{"a":', ""),
        (Kind.INVALID_TOOL_ARGUMENTS, "tool_calls[0].arguments", '{"a":1}', "1}"),
    ]
    assert {finding.severity for finding in findings} == {Severity.ERROR}


def test_arguments_that_were_never_json_are_a_warning() -> None:
    steps: list[Step] = [(opened("f") + "nope", call(0, "nope", "f")), ("<|call|>", {})]
    (finding,) = findings_of(chat(steps, finish="tool_calls"))
    assert (finding.kind, finding.severity) == (Kind.INVALID_TOOL_ARGUMENTS, Severity.WARNING)


def test_arguments_of_another_content_type_need_not_be_json() -> None:
    head = "<|channel|>commentary to=functions.f code<|message|>"
    assert findings_of(chat([(head + "x = 1", call(0, "x = 1", "f")), ("<|call|>", {})])) == []


def test_a_name_that_never_came_and_another_name_are_told() -> None:
    assert brief(findings_of(calls(_0={}))) == [(Kind.DROPPED, "tool_calls[0].name", "f", "")]
    assert brief(findings_of(calls(_0=call(0, "", "h")))) == [(Kind.GARBLED, "tool_calls[0].name", "f", "h")]


def test_several_calls_in_one_event_are_kept_apart() -> None:
    two_calls = {"tool_calls": call(0, '{"a":1}', "f")["tool_calls"] + call(1, '{"b":2}', "g")["tool_calls"]}
    text = opened("f") + '{"a":1}<|call|>' + opened("g", first=False) + '{"b":2}<|call|>'
    assert findings_of(chat([(text, two_calls)], finish="tool_calls")) == []


def test_one_call_only_by_request_is_a_warning() -> None:
    capture = asked(calls(_4={}, _5={}, _6={}), parallel_tool_calls=False)
    assert [(finding.kind, finding.severity) for finding in findings_of(capture)] == [
        (Kind.UNSERVED, Severity.WARNING)
    ]


def test_reasoning_that_the_request_hides_is_no_loss() -> None:
    hidden = chat(changed(_1={}, _2={}))
    assert [finding.kind for finding in findings_of(hidden)] == [Kind.DROPPED]
    assert findings_of(asked(hidden, include_reasoning=False)) == []


@pytest.mark.parametrize("sent", [{}, {"reasoning": "print(1)"}, {"content": "print(1)"}])
def test_calls_of_built_in_tools_are_promised_no_field(sent: Mapping[str, Any]) -> None:
    findings = findings_of(
        chat([("<|channel|>analysis to=python code<|message|>print(1)", sent), ("<|call|>", {})])
    )
    assert all(finding.severity is Severity.WARNING for finding in findings)
    # In the answer a person reads the call; in the reasoning the turn has neither an answer nor a call.
    assert [finding.kind for finding in findings] == [
        Kind.NO_ANSWER if "reasoning" in sent else Kind.UNSERVED
    ]


def test_a_call_cut_by_the_token_limit_is_told_although_the_server_says_tool_calls() -> None:
    steps = [(opened("f"), call(0, "", "f")), text_step('{"a', **call(0, '{"a'))]
    kinds = [finding.kind for finding in findings_of(chat(steps, finish="tool_calls"))]
    assert kinds == [Kind.TRUNCATED]


def test_arguments_under_an_index_without_a_name_are_told_where_no_field_was_promised() -> None:
    header = "<|channel|>commentary to=someone <|constrain|>json<|message|>"
    steps = [(header, call(0, "", "someone")), ('{"q":', call(0, '{"q":')), ("1}<|call|>", call(1, "1}"))]
    (finding,) = findings_of(chat(steps, finish="tool_calls"))
    assert brief([finding]) == [(Kind.PROTOCOL, "tool_calls[1].arguments", None, None)]
    assert (finding.event_start, finding.event_end) == (2, 3)


def test_arguments_that_are_no_json_are_told_where_no_ids_are_known() -> None:
    steps = [(opened("f"), call(0, "", "f")), ('{"a":1}<|call|>', call(0, 'a":1}'))]
    (finding,) = findings_of(chat(steps, finish="tool_calls", with_ids=False))
    assert brief([finding]) == [(Kind.INVALID_TOOL_ARGUMENTS, "tool_calls[0].arguments", None, 'a":1}')]
    assert finding.severity is Severity.WARNING
    assert findings_of(chat(steps, finish="length", with_ids=False))[0].kind is Kind.TRUNCATED
    single_call = [(opened("f"), call(0, "", "f")), ('{"a":1}<|call|>', call(0, '{"a":1}'))]
    assert findings_of(chat(single_call, finish="tool_calls", with_ids=False)) == []


def test_lost_calls_are_named_up_to_two_and_counted_from_three_on() -> None:
    def lost(number: int) -> str:
        called = "<|channel|>commentary to=functions.f{} <|constrain|>json<|message|>{{}}<|call|>"
        texts = [called.format(place) for place in range(number)]
        steps: list[Step] = [
            ("<|start|>assistant" * (place > 0) + text, {}) for place, text in enumerate(texts)
        ]
        return inspect(chat(steps, finish="tool_calls")).verdict.sentence

    assert lost(2).endswith("the server lost tool call 1 (“f0”) and tool call 2 (“f1”).")
    assert lost(3).endswith("the server lost 3 tool calls.")
