"""When tokens arrived that nobody sent: by the deltas that brought their text."""

from inspector.analysis.alignment import reconstructed_cells
from inspector.analysis.reading import read
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import encode
from tests.support.every_code import answer, item, response


def test_a_call_that_no_item_tells_has_the_event_of_what_came_after_it() -> None:
    call = "<|channel|>analysis to=python code<|message|>print(1)<|call|>"
    final_message = "<|channel|>final<|message|>Yes sir<|return|>"
    result = {"role": "tool", "name": "python", "content": [{"text": "1"}]}
    messages = [
        {
            "role": "assistant",
            "channel": "analysis",
            "recipient": "python",
            "content_type": "code",
            "content": [{"text": "print(1)"}],
        },
        result,
        {"role": "assistant", "channel": "final", "content": [{"text": "Yes sir"}]},
    ]
    turns = [len(encode(call)), len(encode(final_message))]
    usage = {"output_tokens": sum(turns), "output_tokens_details": {"output_tokens_per_turn": turns}}
    capture = response(
        [item("message", "Yes sir")], [(0, "Yes"), (0, " sir")], usage=usage, output_messages=messages
    )
    laid = reconstructed_cells(read(capture).choice)
    assert laid is not None
    assert text_of(laid.tokens.ids) == call + final_message
    first, second = 1, 2  # the events of the two deltas
    assert laid.tokens.events == [first] * (sum(turns) - 2) + [second] * 2


def test_without_a_count_nothing_was_reconstructed() -> None:
    assert reconstructed_cells(read(answer("Yes", "Yes")).choice) is None
