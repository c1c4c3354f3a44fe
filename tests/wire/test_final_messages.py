"""What a final object tells of the sampled messages, and where it tells too little."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.harmony.reconstruction import Certainty
from inspector.harmony.spelling import Ending
from inspector.harmony.vocab import encode
from inspector.wire.final_messages import final_messages, reconstructed

THOUGHT = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm."}]}
ANSWER = {"type": "message", "content": [{"type": "output_text", "text": "Yes."}]}
CALL = {"type": "function_call", "name": "f", "arguments": "{}"}
PYTHON = {"type": "web_search_call", "action": {"query": "x"}}
TEXT = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>"


def response(*output: dict[str, Any], count: int | None = None, **more: Any) -> dict[str, Any]:
    usage = None if count is None else {"output_tokens": count}
    return {"status": "completed", "output": list(output), "usage": usage, **more}


def test_items_are_messages() -> None:
    ids = encode(TEXT)
    found = reconstructed(response(THOUGHT, ANSWER, count=len(ids)))
    assert found is not None
    assert found.certainty is Certainty.CONFIRMED
    assert list(found.ids) == ids


def test_an_item_that_leaves_out_what_the_model_wrote_tells_nothing() -> None:
    assert reconstructed(response(THOUGHT, PYTHON, count=20)) is None
    turns = {"output_tokens": 20, "output_tokens_details": {"output_tokens_per_turn": [9, 11]}}
    assert reconstructed({**response(THOUGHT, ANSWER), "usage": turns}) is None


def test_messages_without_role_or_text_are_passed_over_for_the_items() -> None:
    """Unstreamed responses to 0.18 have them so."""
    ids = encode(TEXT)
    hollow = [{"author": {"role": "assistant"}, "content": [{}], "channel": "final"}]
    found = reconstructed(response(THOUGHT, ANSWER, count=len(ids), output_messages=hollow))
    assert found is not None
    assert list(found.ids) == ids


def test_a_call_told_again_after_its_answer_is_taken_once() -> None:
    """To 0.23 the turn after a tool begins with the call before it."""
    call = {
        "role": "assistant",
        "channel": "analysis",
        "recipient": "python",
        "content_type": "code",
        "content": [{"text": "1"}],
    }
    answer = {"role": "tool", "name": "python", "content": [{"text": "1"}]}
    final = {"role": "assistant", "channel": "final", "content": [{"text": "Yes."}]}
    first = encode("<|channel|>analysis to=python code<|message|>1<|call|>")
    second = encode("<|channel|>final<|message|>Yes.<|return|>")
    usage = {
        "output_tokens": len(first) + len(second),
        "output_tokens_details": {"output_tokens_per_turn": [len(first), len(second)]},
    }
    # The content of a message may be a plain string, and a tool may answer in several messages.
    plain = {**final, "content": "Yes."}
    for told in ([call, answer, call, final], [call, answer, final], [call, answer, answer, plain]):
        found = reconstructed({**response(), "usage": usage, "output_messages": told})
        assert found is not None
        assert list(found.ids) == first + second
        assert found.turns == (0, len(first))


@pytest.mark.parametrize(
    ("told", "ending"),
    [
        ({"status": "completed"}, Ending.STOPPED),
        ({"status": "completed", "max_output_tokens": 100}, Ending.STOPPED),
        ({"status": "completed", "max_output_tokens": 20}, Ending.EITHER),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, Ending.CUT),
        ({"status": "incomplete", "incomplete_details": None}, Ending.EITHER),
        # vLLM calls a response without any item incomplete, whatever the limit.
        (
            {
                "status": "incomplete",
                "max_output_tokens": 2000,
                "incomplete_details": {"reason": "max_output_tokens"},
            },
            Ending.STOPPED,
        ),
    ],
)
def test_how_it_ended(told: dict[str, Any], ending: Ending) -> None:
    found = final_messages(response(ANSWER, count=20) | told)
    assert found is not None
    assert found.ending is ending


KEYS = [
    "output",
    "output_messages",
    "usage",
    "output_tokens",
    "output_tokens_details",
    "output_tokens_per_turn",
    "role",
    "type",
    "text",
    "content",
    "channel",
    "recipient",
    "name",
    "arguments",
]
JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=4) | st.sampled_from(["assistant", "message", "final"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["output", "output_messages", "usage", "status"]), JSON))
def test_any_object_is_read(value: dict[str, Any]) -> None:
    found = reconstructed(value)
    assert found is None or not found.confirmed or found.missing == 0
