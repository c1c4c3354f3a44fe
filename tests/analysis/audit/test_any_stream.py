"""Nothing that a server can send raises, and nothing takes more than its length is worth."""

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.analysis.audit import KINDS, Finding, Kind, audit, explain
from inspector.analysis.audit.verdict import Level, verdict
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint, Event, EventKind, Header
from inspector.protocol.harmony.vocab import encode
from tests.support.mutated import JSON, mutated
from tests.support.streams import chat_chunk

MILDER = {Kind.INVALID_TOOL_ARGUMENTS, Kind.HARMONY_AS_TEXT}
"""Kinds whose findings may be warnings instead of errors."""


def sound(findings: Sequence[Finding], capture: Capture, tokens: Sequence[int]) -> None:
    for finding in findings:
        assert len(explain(finding)) < 1000
        usual = KINDS[finding.kind].severity
        assert finding.severity is usual or finding.kind in MILDER
        if finding.token_start is not None or finding.token_end is not None:
            assert finding.token_start is not None
            assert finding.token_end is not None
            sent = tokens[finding.choice]
            if finding.sent:
                assert 0 <= finding.token_start <= finding.token_end <= sent
            else:
                assert (finding.token_start, finding.token_end) == (sent, sent + 1)
        if finding.event_start is not None and finding.event_end is not None:
            assert 0 <= finding.event_start < finding.event_end <= len(capture.events)


@given(mutated(), st.booleans())
def test_any_stream_is_read_and_its_findings_have_sound_places(capture: Capture, with_truth: bool) -> None:
    truth = (
        encode("<|channel|>final<|message|>Hi<|end|>x<|start|>assistantary<|message|>")
        if with_truth
        else None
    )
    reading = read(capture, truth=truth)
    counts = {choice.index: len(choice.tokens) for choice in reading.choices}
    findings = audit(reading)
    sound(findings, capture, [counts.get(number, 0) for number in range(max(counts) + 1)])
    judged = verdict(reading, findings)
    assert judged.sentence.endswith(".")
    assert (judged.level in {Level.ERROR, Level.WARNING}) is bool(findings)
    for choice in reading.choices:
        choice.generated()
        choice.delivered()
    assert audit(read(capture, truth=truth)) == findings


@given(st.lists(JSON, max_size=6), st.sampled_from(Endpoint), st.sampled_from(EventKind))
def test_any_json_is_read(payloads: list[Any], endpoint: Endpoint, kind: EventKind) -> None:
    events = [Event(json.dumps(payload), None, "", kind) for payload in payloads]
    audit(read(Capture(header=Header(endpoint=endpoint), events=events)))


def test_deep_nesting_is_read() -> None:
    deep = "[" * 950 + "]" * 950
    data = [
        "[" * 100_000,
        '{"choices":' + deep + "}",
        '{"error":{"message":' + deep + "}}",
        '{"choices":[{"index":'
        + deep
        + ',"finish_reason":'
        + deep
        + ',"delta":{"tool_calls":[{"index":'
        + deep
        + "}]}}]}",
        '{"type":"response.output_item.added","item":{"type":' + deep + ',"id":' + deep + "}}",
    ]
    for endpoint in Endpoint:
        audit(read(Capture(header=Header(endpoint=endpoint), events=[Event(payload) for payload in data])))


@pytest.mark.slow
def test_an_error_of_any_depth_is_told() -> None:
    for depth in range(700, 1000):
        body = '{"error":{"message":' + "[" * depth + "]" * depth + "}}"
        audit(read(Capture(header=Header(endpoint=Endpoint.CHAT), events=[Event(body)])))


REASONING = encode("<|channel|>analysis<|message|>")


def every_delta_wrong(size: int) -> Capture:
    data = [chat_chunk(REASONING, {})]
    data += [chat_chunk([1844 + number % 50], {"reasoning": f"zq{number}"}) for number in range(size)]
    return Capture(header=Header(endpoint=Endpoint.CHAT), events=[Event(payload) for payload in data])


def the_same_letter(size: int) -> Capture:
    letter = encode("a")
    data = [chat_chunk(REASONING, {})]
    data += [chat_chunk(letter, {"reasoning": "a" if number % 7 else ""}) for number in range(size)]
    data.append(chat_chunk(None, {"reasoning": "a" * (size // 200)}))
    return Capture(header=Header(endpoint=Endpoint.CHAT), events=[Event(payload) for payload in data])


def single_event(size: int) -> Capture:
    data = [chat_chunk(REASONING + encode("ba" * size), {"reasoning": "ab" * size, "content": "a" * size})]
    return Capture(header=Header(endpoint=Endpoint.CHAT), events=[Event(payload) for payload in data])


def calls_nobody_made(size: int) -> Capture:
    data = [chat_chunk(REASONING, {})]
    data += [
        chat_chunk(None, {"tool_calls": [{"index": number, "function": {"name": "f", "arguments": "{}"}}]})
        for number in range(size)
    ]
    return Capture(header=Header(endpoint=Endpoint.CHAT), events=[Event(payload) for payload in data])


def many_items(size: int) -> Capture:
    data = []
    for number in range(size):
        item = {"type": "function_call", "id": f"f{number}", "name": "n"}
        data.append({"type": "response.output_item.added", "output_index": number, "item": item})
        data.append({"type": "response.function_call_arguments.delta", "output_index": number, "delta": "{"})
    output = [{"type": "function_call", "name": "n", "arguments": "{}"}] * size
    data.append({"type": "response.completed", "response": {"status": "completed", "output": output}})
    return Capture(
        header=Header(endpoint=Endpoint.RESPONSES), events=[Event(json.dumps(payload)) for payload in data]
    )


def seconds(capture: Capture) -> float:
    start = time.process_time()
    audit(read(capture))
    return time.process_time() - start


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile",
    [every_delta_wrong, the_same_letter, single_event, calls_nobody_made, many_items],
    ids=lambda build: build.__name__,
)
def test_hostile_streams_cost_no_more_than_their_length(hostile: Callable[[int], Capture]) -> None:
    seconds(hostile(200))
    small, large = seconds(hostile(2000)), seconds(hostile(16000))
    # Eight times the length: square growth would take 64 times as long.
    assert large < 26 * max(small, 0.05), (small, large)
