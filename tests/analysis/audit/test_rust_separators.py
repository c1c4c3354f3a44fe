"""What vLLM's Rust front end puts between messages, and what it leaves out."""

from collections.abc import Sequence

import pytest

from inspector.analysis.audit import Code
from inspector.analysis.audit.verdict import Level
from inspector.inspection.inspection import inspect
from inspector.protocol.harmony.vocab import VOCABULARY_SIZE, encode
from tests.support.every_code import by_rust
from tests.support.streams import Step, chat, chat_chunk

FINAL = "<|channel|>final<|message|>"
NEXT = "<|end|><|start|>assistant"


@pytest.mark.parametrize(
    "steps",
    [
        [(FINAL, {}), (NEXT + FINAL + "B", {"content": "\nB"}), ("<|return|>", {})],
        [
            (FINAL + "A", {"content": "A"}),
            (NEXT + FINAL, {}),
            (NEXT + FINAL + "B", {"content": "\nB"}),
            ("<|return|>", {}),
        ],
        [
            (FINAL, {}),
            (NEXT + FINAL + "A", {"content": "\nA"}),
            (NEXT + FINAL + "\n", {"content": "\n\n"}),
            ("<|return|>", {}),
        ],
    ],
)
def test_separator_stands_before_every_text_but_the_first_messages(steps: Sequence[Step]) -> None:
    findings = inspect(by_rust(steps)).findings
    assert {finding.code for finding in findings} == {Code.SEPARATOR_ADDED}


def test_separator_before_the_first_message_is_invented() -> None:
    findings = inspect(by_rust([(FINAL + "A", {"content": "\nA"}), ("<|return|>", {})])).findings
    assert [finding.code for finding in findings] == [Code.TEXT_INVENTED]


def test_separator_beyond_the_one_between_two_messages_is_invented() -> None:
    steps = [
        (FINAL + "A", {"content": "A"}),
        (NEXT + FINAL + "B", {"content": "\n\n\nB"}),
        ("<|return|>", {}),
    ]
    inspection = inspect(by_rust(steps))
    alignment = inspection.alignments[0]
    assert alignment is not None
    assert [(extra.text, extra.separates) for extra in alignment.extras] == [("\n", True), ("\n\n", False)]
    assert {finding.code for finding in inspection.findings} == {Code.TEXT_INVENTED, Code.SEPARATOR_ADDED}


def test_half_character_that_is_all_of_a_fieldless_message_is_said() -> None:
    half = encode("\U0001f468\u200d\U0001f680")[:1]
    capture = chat(
        [("<|channel|>analysis to=python code<|message|>", {}), (NEXT + FINAL + "Yes", {"content": "Yes"})]
    )
    events = list(capture.events)
    events.insert(1, events[0]._replace(data=chat_chunk(half, {})))
    inspection = inspect(type(capture)(header=capture.header, events=events, end=capture.end))
    assert inspection.verdict.level is Level.WARNING
    assert Code.NO_FIELD in {finding.code for finding in inspection.findings}


def test_id_without_text_is_no_text_that_was_lost() -> None:
    steps = [
        ("<|channel|>analysis to=python code<|message|>", {}),
        (NEXT + FINAL + "Yes", {"content": "Yes"}),
    ]
    capture = chat(steps)
    events = list(capture.events)
    events.insert(1, events[0]._replace(data=chat_chunk([VOCABULARY_SIZE], {})))
    inspection = inspect(type(capture)(header=capture.header, events=events, end=capture.end))
    assert Code.NO_FIELD not in {finding.code for finding in inspection.findings}
