"""Spans against what servers in miniature really did with each token."""

import pytest

from inspector.analysis.audit import Kind, audit
from inspector.analysis.reading import read
from inspector.protocol.harmony.vocab import encode
from tests.support.servers import HABITS, ServedStream, promised_fields, serve

START = "<|start|>assistant"
SCRIPTS = {
    "reasoning and answer": "<|channel|>analysis<|message|>User greets. Reply briefly.<|end|>"
    f"{START}<|channel|>final<|message|>Hello there! 👋🏽 How can I help?<|return|>",
    "equal words": "<|channel|>analysis<|message|>the the a the the the<|end|>"
    f"{START}<|channel|>final<|message|>the a the the a a the the<|return|>",
    "a preamble and two calls": "<|channel|>analysis<|message|>Need weather.<|end|>"
    f"{START}<|channel|>commentary<|message|>Let me look.<|end|>"
    f"{START}<|channel|>commentary to=functions.get_weather <|constrain|>json"
    '<|message|>{"city":"Paris"}<|call|>'
    f'{START} to=functions.get_time<|channel|>analysis json<|message|>{{"zone":"Europe/Paris"}}<|call|>',
    "the same call twice": '<|channel|>commentary to=functions.f json<|message|>{"a":1}<|call|>'
    f'{START}<|channel|>commentary to=functions.f json<|message|>{{"a":1}}<|call|>',
    "a server-side tool": "<|channel|>analysis to=python code<|message|>print(1)<|call|>"
    f"{START}<|channel|>final<|message|>It prints 1.<|return|>",
    "markers in a body": "<|channel|>final<|message|>one<|start|>assistant<|channel|>two<|return|>",
    "an unknown channel": "<|channel|>aside<|message|>psst<|end|>"
    f"{START}<|channel|>final<|message|>Hi.<|return|>",
    "text between messages": "<|channel|>final<|message|>One.<|end|>stray"
    f"{START}<|channel|>final<|message|>Two.<|return|>",
    "a long body": f"<|channel|>analysis<|message|>{' '.join(map(str, range(60)))}<|end|>"
    f"{START}<|channel|>final<|message|>{' '.join(map(str, range(60, 0, -1)))}<|return|>",
}
NO_LOSS = {Kind.UNSERVED, Kind.SPECIAL_TOKEN_IN_BODY}
"""Warnings about what the model wrote, where the server delivered all that it has a field for."""

STEPS = (1, 2, 3, 4, 5, 8, 16, 64)


def served(habit: str, script: str, at_once: int) -> tuple[ServedStream, dict[int, str | None]]:
    ids = encode(SCRIPTS[script])
    stream = serve(habit, ids, at_once)
    return stream, {
        index: field for index, field in promised_fields(ids[: stream.sent]).items() if field is not None
    }


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("habit", HABITS)
def test_findings_name_exactly_the_tokens_that_were_lost_or_went_elsewhere(habit: str, script: str) -> None:
    for at_once in STEPS:
        stream, promised = served(habit, script, at_once)
        findings = audit(read(stream.capture))
        lost: set[int] = set()
        moved: dict[int, str | None] = {}
        for finding in findings:
            assert finding.kind not in {Kind.DUPLICATED, Kind.REORDERED, Kind.GARBLED}, finding
            if finding.token_start is None or finding.token_end is None:
                continue
            span = [index for index in range(finding.token_start, finding.token_end) if index in promised]
            if finding.kind is Kind.DROPPED:
                lost.update(span)
            if finding.kind is Kind.MISROUTED:
                moved.update(dict.fromkeys(span, finding.delivered_in))
        delivered_in = {index: stream.delivered_in.get(index) for index in promised}
        assert lost == {index for index, field in delivered_in.items() if field is None}, at_once
        assert moved == {
            index: field for index, field in delivered_in.items() if field not in {None, promised[index]}
        }, at_once


@pytest.mark.parametrize(
    ("habit", "script"),
    [
        (habit, script)
        for habit in ("0.13", "0.18", "0.32")
        for script in SCRIPTS
        # 0.13 has no field for preambles and for calls on the analysis channel
        if script != "text between messages" and (habit, script) != ("0.13", "a preamble and two calls")
    ],
)
def test_a_stream_of_one_token_an_event_is_whole(habit: str, script: str) -> None:
    stream, _ = served(habit, script, 1)
    assert [finding for finding in audit(read(stream.capture)) if finding.kind not in NO_LOSS] == []


@pytest.mark.parametrize("at_once", STEPS)
def test_a_server_that_parses_each_token_loses_nothing_however_many_come_at_once(at_once: int) -> None:
    for script in SCRIPTS:
        stream, _ = served("0.32", script, at_once)
        kinds = {finding.kind for finding in audit(read(stream.capture))}
        assert kinds <= {*NO_LOSS, Kind.UNEXPECTED_TOKEN}, script


def test_one_cause_is_one_finding() -> None:
    stream, _ = served("0.14", "reasoning and answer", 64)
    (finding,) = audit(read(stream.capture))
    assert (finding.kind, finding.field, finding.delivered_in) == (Kind.MISROUTED, "reasoning", "content")
    assert (finding.token_start, finding.token_end) == (3, 10)
    assert finding.generated == "User greets. Reply briefly."
