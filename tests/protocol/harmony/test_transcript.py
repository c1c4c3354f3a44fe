import pytest

from inspector.protocol.harmony.states import State
from inspector.protocol.harmony.tracker import HarmonyTracker
from inspector.protocol.harmony.transcript import Message, Transcript
from inspector.protocol.harmony.vocab import encode

HEAD = "<|channel|>final<|message|>"


def fold(text: str, prompt: str | None = None) -> Transcript:
    ids = encode(text)
    transcript = Transcript()
    transcript.receive(HarmonyTracker(None if prompt is None else encode(prompt)).receive(ids), len(ids))
    return transcript


def spans(message: Message) -> tuple[int, int, int, int]:
    return message.start, message.body, message.body_end, message.end


def test_a_closed_message_spans_header_body_and_marker() -> None:
    (message,) = fold(HEAD + "a b<|return|>").messages
    assert spans(message) == (0, 3, 5, 6)
    assert message.complete


def test_messages_stand_side_by_side() -> None:
    first, second = fold(HEAD + "a<|end|><|start|>assistant" + HEAD + "b<|return|>").messages
    assert (spans(first), spans(second)) == ((0, 3, 4, 5), (5, 10, 11, 12))


def test_an_open_body_and_an_open_header_reach_to_the_last_token() -> None:
    (body,) = fold(HEAD + "a b").messages
    assert (spans(body), body.in_body, body.complete) == ((0, 3, 5, 5), True, False)
    (head,) = fold("<|channel|>fin").messages
    assert (spans(head), head.in_body, head.complete) == ((0, 2, 2, 2), False, False)


def test_an_empty_body_is_a_message() -> None:
    (message,) = fold(HEAD + "<|return|>").messages
    assert (spans(message), message.complete) == ((0, 3, 3, 4), True)


def test_what_is_refused_between_messages_is_one_run_to_the_next_start() -> None:
    transcript = fold(HEAD + "a<|end|>x y<|channel|>z<|start|>assistant" + HEAD + "b")
    (rejected_run,) = transcript.rejected_runs
    assert (rejected_run.start, rejected_run.at, rejected_run.end, rejected_run.in_header) == (5, 5, 9, False)
    assert rejected_run.state is State.BETWEEN
    assert [spans(message) for message in transcript.messages] == [(0, 3, 4, 5), (9, 14, 15, 15)]


def test_a_refused_header_is_no_message_and_its_run_begins_with_it() -> None:
    transcript = fold(HEAD + "a<|end|><|start|>assistantary<|message|>x<|end|>")
    (rejected_run,) = transcript.rejected_runs
    assert (rejected_run.start, rejected_run.at, rejected_run.end, rejected_run.in_header) == (5, 8, 11, True)
    assert len(transcript.messages) == 1


@pytest.mark.parametrize("prompt", ["<|start|>user<|message|>x<|end|>oops", "<|start|>nobody<|message|>"])
def test_a_prompt_that_is_refused_refuses_the_tokens_up_to_the_next_start(prompt: str) -> None:
    transcript = fold("a b<|start|>assistant" + HEAD + "c", prompt)
    (rejected_run,) = transcript.rejected_runs
    assert rejected_run.at < 0
    assert (rejected_run.start, rejected_run.end) == (0, 2)
    assert [spans(message) for message in transcript.messages] == [(2, 7, 8, 8)]
