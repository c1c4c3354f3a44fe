"""Responses: the final object against the deltas."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from inspector.analysis.audit import Finding, Kind, Severity
from inspector.capture.capture import Capture, End, Endpoint, Event, Header
from tests.support.audits import (
    brief,
    findings_of,
    response,
    text_step,
)
from tests.support.streams import CLOSED, chat


@pytest.mark.parametrize(("counted", "reported"), [(8, True), (7, False)])
def test_a_response_that_used_all_its_tokens_and_calls_itself_completed_is_cut(
    counted: int, reported: bool
) -> None:
    capture = response([], request={"max_output_tokens": 8}, usage={"output_tokens": counted})
    assert (Kind.TRUNCATED in {finding.kind for finding in findings_of(capture)}) is reported


def test_an_answer_that_became_a_call_of_a_marker_is_misrouted() -> None:
    item = {"type": "mcp_call", "name": "<|constrain|>json", "server_label": "x", "arguments": "{}"}
    assert brief(findings_of(response([item], request={}))) == [(Kind.MISROUTED, None, "{}", "{}")]


def test_a_function_that_became_a_call_of_the_server_is_misrouted() -> None:
    item = {"type": "mcp_call", "name": "f", "server_label": "functions", "arguments": '{"a":1}'}
    misrouted = (Kind.MISROUTED, "tool_calls[0].arguments", '{"a":1}', '{"a":1}')
    assert brief(findings_of(response([item], request={}))) == [misrouted]
    own = {**item, "server_label": "deepwiki"}
    assert [(finding.kind, finding.severity) for finding in findings_of(response([own], request={}))] == [
        (Kind.PROTOCOL, Severity.WARNING)
    ]


@pytest.mark.parametrize(("version", "kinds"), [("0.12.0", []), ("0.13.0", [Kind.UNSERVED])])
def test_an_error_stream_of_a_release_that_leaves_ids_out_is_not_parsed_as_if_whole(
    version: str, kinds: list[Kind]
) -> None:
    gaps = [
        ("final<|message|>", {}),
        text_step("Hi", content="Hi"),
    ]  # what vLLM 0.12 sends of a final message
    capture = chat(gaps, finish=None, done=False, version=version, end=End(at_s=None, cut=True))
    assert [
        finding.kind for finding in findings_of(capture) if finding.kind is not Kind.DISCONNECTED
    ] == kinds


def answered(*texts: str, final: str) -> Capture:
    """A Responses stream of text deltas, and a final object."""
    item = {"type": "message", "content": [{"type": "output_text", "text": final}]}
    payloads: list[dict[str, Any]] = [{"type": "response.output_item.added", "output_index": 0, "item": item}]
    payloads += [{"type": "response.output_text.delta", "output_index": 0, "delta": text} for text in texts]
    payloads.append({"type": "response.completed", "response": {"status": "completed", "output": [item]}})
    events = [Event(json.dumps(payload)) for payload in payloads]
    return Capture(header=Header(endpoint=Endpoint.RESPONSES, status=200), events=events, end=CLOSED)


def without_protocol(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.kind is not Kind.PROTOCOL]


def test_two_faults_in_a_long_answer_are_two_small_findings() -> None:
    words = [f" word{number}" for number in range(9000)]
    sent = [*words[:10], words[10], words[10], *words[11:-5], words[-5], *words[-5:]]
    findings = without_protocol(findings_of(answered(*sent, final="".join(words))))
    assert brief(findings) == [
        (Kind.DUPLICATED, "content", None, " word10"),
        (Kind.DUPLICATED, "content", None, " word8995"),
    ]


def test_a_swapped_pair_without_ids_is_reordered() -> None:
    (finding,) = without_protocol(
        findings_of(answered("a", " quick", " brown", " fox", final="a brown quick fox"))
    )
    assert finding.kind is Kind.REORDERED


def test_a_character_that_the_end_of_a_final_text_cuts_off_is_no_loss() -> None:
    assert without_protocol(findings_of(answered("Hi", final="Hi\ufffd"))) == []
    (finding,) = without_protocol(findings_of(answered("Hi", "there", final="Hi\ufffdthere")))
    assert brief([finding]) == [(Kind.DROPPED, "content", "\ufffd", "")]


def test_neighbouring_pieces_of_surplus_are_one_finding() -> None:
    (finding,) = without_protocol(findings_of(answered("Yes", " a", " b", final="Yes")))
    assert brief([finding]) == [(Kind.DUPLICATED, "content", None, " a b")]
    assert (finding.event_start, finding.event_end) == (2, 4)


def test_a_repeated_piece_is_the_surplus_and_not_what_stands_across_two() -> None:
    (finding,) = without_protocol(findings_of(answered("x", "(1)>", "(1)>", "y", final="x(1)>y")))
    assert finding.delivered == "(1)>"


@pytest.mark.parametrize("name", ["g", ""])
def test_a_function_s_name_is_held_against_the_final_object(name: str) -> None:
    call = {"type": "function_call", "name": "f", "arguments": "{}"}
    payloads = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**call, "name": name}},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{}"},
        {"type": "response.completed", "response": {"status": "completed", "output": [call]}},
    ]
    header = Header(endpoint=Endpoint.RESPONSES, status=200)
    capture = Capture(header=header, events=[Event(json.dumps(payload)) for payload in payloads], end=CLOSED)
    (finding,) = without_protocol(findings_of(capture))
    kind = Kind.GARBLED if name else Kind.DROPPED
    assert brief([finding]) == [(kind, "tool_calls[0].name", "f", name)]


def test_a_response_that_failed_without_a_reason_is_a_server_error_and_done_is_no_end_of_one() -> None:
    header = Header(endpoint=Endpoint.RESPONSES, status=200)
    failed = {"type": "response.failed", "response": {"status": "failed", "error": None, "output": []}}
    findings = findings_of(Capture(header=header, events=[Event(json.dumps(failed))], end=CLOSED))
    assert [finding.kind for finding in findings] == [Kind.SERVER_ERROR]
    delta = {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"}
    events = [Event(json.dumps(delta)), Event("[DONE]")]
    findings = without_protocol(findings_of(Capture(header=header, events=events, end=CLOSED)))
    assert [finding.kind for finding in findings] == [Kind.DISCONNECTED]


@pytest.mark.parametrize(
    "item",
    [
        {"type": ["message"]},
        {"type": "function_call", "name": {}, "arguments": []},
        {"type": "mcp_call", "name": None, "server_label": []},
    ],
)
def test_a_final_object_of_any_shape_is_read(item: Mapping[str, Any]) -> None:
    messages = [{"role": ["assistant"], "content": {}}]
    usage = {"output_tokens": 10**400}
    response_ = response([item], request={}, usage=usage, output_messages=messages)
    assert all(isinstance(finding, Finding) for finding in findings_of(response_))
