"""The engine's reply to a prompt."""

from harmony_lab.standin.replies import reply_to
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import encode

SCRIPTS = {"plain": [[1, 2]], "turns": [[10], [20], [30]]}


def asked(text: str) -> list[int]:
    return encode(f"<|start|>user<|message|>{text}<|end|><|start|>assistant")


def test_reply_to_the_last_script_marker() -> None:
    answer = reply_to(asked("[[script turns]] and [[script plain]]"), SCRIPTS)
    assert (answer.tokens, answer.script, answer.schedule) == ([1, 2], "plain", None)


def test_reply_to_token_ids() -> None:
    assert reply_to(asked("[[tokens 5 6\n7]]"), SCRIPTS).tokens == [5, 6, 7]


def test_reply_with_schedule() -> None:
    answer = reply_to(asked("[[steps ragged:7]] [[script plain]]"), SCRIPTS)
    assert answer.schedule is not None
    assert answer.schedule.text == "ragged:7"


def test_reply_counts_turns() -> None:
    prompt = "<|start|>user<|message|>[[script turns]]<|end|>"
    call = "<|start|>assistant to=python<|channel|>analysis<|message|>1<|call|>"
    output = "<|start|>python to=assistant<|message|>1<|end|>"
    for after, tokens in (("", [10]), (call + output, [20]), (output * 2, [30]), (call * 5, [30])):
        assert reply_to(encode(prompt + after + "<|start|>assistant"), SCRIPTS).tokens == tokens


def test_reply_to_unknown_names() -> None:
    for text, words in (
        ("Hello?", "Hello from the lab."),
        ("[[script nothing]]", "The lab has no script called nothing."),
        ("[[steps never]] [[script plain]]", "'never' is not a schedule of steps"),
    ):
        answer = reply_to(asked(text), SCRIPTS)
        assert answer.script == ""
        assert words in text_of(answer.tokens)
