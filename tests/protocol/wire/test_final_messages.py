"""What a final object tells of the sampled messages, and where it tells too little."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol.harmony.reconstruction import Certainty
from inspector.protocol.harmony.spelling import TurnEnd
from inspector.protocol.harmony.vocab import encode
from inspector.protocol.wire.final_messages import final_messages, reconstructed

THOUGHT = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm."}]}
ANSWER = {"type": "message", "content": [{"type": "output_text", "text": "Yes."}]}
CALL = {"type": "function_call", "name": "f", "arguments": "{}"}
PYTHON = {"type": "web_search_call", "action": {"query": "x"}}
TEXT = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>"


def response(*output: dict[str, Any], count: int | None = None, **members: Any) -> dict[str, Any]:
    usage = None if count is None else {"output_tokens": count}
    return {"status": "completed", "output": list(output), "usage": usage, **members}


def test_items_are_messages() -> None:
    ids = encode(TEXT)
    reconstruction = reconstructed(response(THOUGHT, ANSWER, count=len(ids)))
    assert reconstruction is not None
    assert reconstruction.certainty is Certainty.CONFIRMED
    assert list(reconstruction.ids) == ids


def test_an_item_that_leaves_out_what_the_model_wrote_tells_nothing() -> None:
    for item in (PYTHON, {**ANSWER, "type": "a tool of the server"}, {**ANSWER, "type": ["message"]}):
        assert reconstructed(response(THOUGHT, item, count=20)) is None
    turns = {"output_tokens": 20, "output_tokens_details": {"output_tokens_per_turn": [9, 11]}}
    assert reconstructed({**response(THOUGHT, ANSWER), "usage": turns}) is None


def test_messages_without_role_or_text_are_passed_over_for_the_items() -> None:
    """Unstreamed responses to 0.19 have them so."""
    ids = encode(TEXT)
    hollow = [{"author": {"role": "assistant"}, "content": [{}], "channel": "final"}]
    reconstruction = reconstructed(response(THOUGHT, ANSWER, count=len(ids), output_messages=hollow))
    assert reconstruction is not None
    assert list(reconstruction.ids) == ids


def hollow(channel: str, recipient: str | None = None, role: str = "assistant") -> dict[str, Any]:
    """A message of an unstreamed response to 0.19."""
    kind = "code" if recipient == "python" else None
    author = {"role": role, "name": None if role == "assistant" else "python"}
    return {
        "author": author,
        "content": [{}],
        "channel": channel,
        "recipient": recipient,
        "content_type": kind,
    }


CODE = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "print(1)"}]}
CALLED = "<|channel|>analysis to=python code<|message|>print(1)<|call|>"
AFTER = "<|channel|>final<|message|>Yes.<|return|>"
TURN = [hollow("analysis", "python"), hollow("analysis", "assistant", "tool"), hollow("final")]


def with_turns(*output: dict[str, Any], messages: list[dict[str, Any]]) -> dict[str, Any]:
    counts = [len(encode(CALLED)), len(encode(AFTER))]
    usage = {"output_tokens": sum(counts), "output_tokens_details": {"output_tokens_per_turn": counts}}
    return {**response(*output, output_messages=messages), "usage": usage}


def test_messages_without_texts_take_those_of_the_items() -> None:
    reconstruction = reconstructed(with_turns(CODE, ANSWER, messages=TURN))
    assert reconstruction is not None
    assert reconstruction.certainty is Certainty.AMBIGUOUS  # the recipient may come before the channel
    assert list(reconstruction.ids) == encode(CALLED) + encode(AFTER)


@pytest.mark.parametrize(
    ("output", "messages"),
    [
        ((PYTHON, ANSWER), TURN),
        ((ANSWER,), TURN),
        ((ANSWER, CODE), TURN),
        ((CALL, ANSWER), TURN),
        ((CODE, ANSWER), [hollow("analysis", "functions.f"), *TURN[1:]]),
        ((CODE, ANSWER), [{**TURN[0], "author": "assistant"}, *TURN[1:]]),
        (("reasoning", ANSWER), TURN),
        ((CODE, ANSWER), [*TURN[:2], {**TURN[2], "channel": []}]),
        ((CODE, {**ANSWER, "type": []}), TURN),
        ((CODE, {**ANSWER, "type": {}}), TURN),
    ],
)
def test_messages_without_texts_that_are_not_those_of_the_items_tell_nothing(
    output: tuple[Any, ...], messages: list[dict[str, Any]]
) -> None:
    assert reconstructed(with_turns(*output, messages=messages)) is None


def test_a_call_without_texts_takes_its_arguments_from_the_item() -> None:
    called = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
    message = {**hollow("commentary", "functions.f"), "content_type": "<|constrain|>json"}
    final_object = with_turns(CODE, CALL, messages=[*TURN[:2], message])
    counts = [len(encode(CALLED)), len(encode(called))]
    final_object["usage"] = {
        "output_tokens": sum(counts),
        "output_tokens_details": {"output_tokens_per_turn": counts},
    }
    reconstruction = reconstructed(final_object)
    assert reconstruction is not None
    assert list(reconstruction.ids) == encode(CALLED) + encode(called)
    assert reconstructed({**final_object, "output": [CODE, {**CALL, "arguments": None}]}) is None


def test_a_preamble_without_text_has_that_of_its_reasoning_item() -> None:
    """To 0.16 a preamble is a reasoning item."""
    preamble = "<|channel|>commentary<|message|>Hm.<|end|><|start|>assistant"
    final_object = with_turns(
        CODE, THOUGHT, ANSWER, messages=[*TURN[:2], hollow("commentary"), hollow("final")]
    )
    counts = [len(encode(CALLED)), len(encode(preamble + AFTER))]
    final_object["usage"] = {
        "output_tokens": sum(counts),
        "output_tokens_details": {"output_tokens_per_turn": counts},
    }
    reconstruction = reconstructed(final_object)
    assert reconstruction is not None
    assert list(reconstruction.ids) == encode(CALLED) + encode(preamble + AFTER)


def test_a_call_without_text_has_the_arguments_of_its_mcp_call() -> None:
    called = '<|channel|>commentary to=notes.add<|message|>{"a": 1}<|call|>'
    item = {"type": "mcp_call", "name": "add", "server_label": "notes", "arguments": '{"a": 1}'}
    count = len(encode(called))
    final_object = response(item, count=count, output_messages=[hollow("commentary", "notes.add")])
    reconstruction = reconstructed(final_object)
    assert reconstruction is not None
    assert list(reconstruction.ids) == encode(called)
    other_tool = reconstructed(
        response(item, count=count, output_messages=[hollow("commentary", "notes.drop")])
    )
    assert other_tool is not None  # the item alone then tells it
    assert other_tool.ids != reconstruction.ids or other_tool.uncertain


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
    for output_messages in (
        [call, answer, call, final],
        [call, answer, final],
        [call, answer, answer, plain],
    ):
        reconstruction = reconstructed({**response(), "usage": usage, "output_messages": output_messages})
        assert reconstruction is not None
        assert list(reconstruction.ids) == first + second
        assert reconstruction.turns == (0, len(first))


@pytest.mark.parametrize(
    ("members", "ending"),
    [
        ({"status": "completed"}, TurnEnd.STOPPED),
        ({"status": "completed", "max_output_tokens": 100}, TurnEnd.STOPPED),
        ({"status": "completed", "max_output_tokens": 20}, TurnEnd.EITHER),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, TurnEnd.CUT),
        ({"status": "incomplete", "incomplete_details": None}, TurnEnd.EITHER),
        # vLLM calls a response without any item incomplete, whatever the limit.
        (
            {
                "status": "incomplete",
                "max_output_tokens": 2000,
                "incomplete_details": {"reason": "max_output_tokens"},
            },
            TurnEnd.STOPPED,
        ),
    ],
)
def test_how_it_ended(members: dict[str, Any], ending: TurnEnd) -> None:
    messages = final_messages(response(ANSWER, count=20) | members)
    assert messages is not None
    assert messages.ending is ending


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
    reconstruction = reconstructed(value)
    assert reconstruction is None or not reconstruction.confirmed or reconstruction.missing == 0
