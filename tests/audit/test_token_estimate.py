"""What an answer's texts account for in tokens, encoded again."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from inspector.audit.token_estimate import explained_tokens
from inspector.capture import Capture, Endpoint, Event, EventKind, Header
from inspector.harmony.vocab import encode
from inspector.reading import read
from tests.support.streams import chat


def explained(output: object, **more: Any) -> int | None:
    body = {"object": "response", "status": "completed", "output": output, **more}
    event = Event(json.dumps(body), kind=EventKind.BODY)
    return explained_tokens(read(Capture(header=Header(endpoint=Endpoint.RESPONSES), events=[event])))


THINK: Mapping[str, Any] = {"type": "reasoning", "content": [{"text": "Hm"}, {"text": " so"}]}
ANSWER: Mapping[str, Any] = {"type": "message", "content": [{"text": "Yes"}, "odd", {"text": 7}]}
CALL: Mapping[str, Any] = {"type": "function_call", "name": "f", "arguments": '{"a":1}'}
THOUGHT = "<|channel|>analysis<|message|>Hm so<|end|>"
CALLED = '<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":1}<|call|>'
ANSWERED = "<|start|>assistant<|channel|>final<|message|>Yes<|return|>"


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ([], ""),
        ([THINK], THOUGHT),
        ([THINK, ANSWER], THOUGHT + ANSWERED),
        ([THINK, CALL, ANSWER], THOUGHT + CALLED + ANSWERED),
        ([{"type": "message", "content": None}], "<|channel|>final<|message|><|return|>"),
    ],
)
def test_a_final_object_accounts_for_its_items_and_their_framing(
    output: Sequence[Mapping[str, Any]], text: str
) -> None:
    # The blank before `<|constrain|>` is one token, wherever it stands.
    assert explained(output) == len(encode(text))


@pytest.mark.parametrize(
    "output", [None, "x", [7], [THINK, {"type": "mcp_call"}], [{"type": "web_search_call"}]]
)
def test_turns_of_the_servers_own_tools_and_odd_items_are_not_accounted_for(output: object) -> None:
    assert explained(output) is None


def test_messages_that_were_asked_for_take_the_place_of_items() -> None:
    told = [
        {"role": "user", "content": "not generated"},
        {"role": "assistant", "channel": "analysis", "content": [{"text": "Hm so"}]},
        "odd",
        {
            "channel": "commentary",
            "recipient": "functions.f",
            "content_type": "<|constrain|>json",
            "content": '{"a":1}',
        },
        {"channel": None, "recipient": 7, "content_type": 7, "content": 7},
    ]
    header_alone = "<|start|>assistant<|channel|><|message|><|end|>"
    assert explained([], output_messages=told) == len(encode(THOUGHT + CALLED + header_alone))
    assert explained([THINK], output_messages=[]) == len(encode(THOUGHT))


def test_a_chat_accounts_for_its_deltas_and_plain_text_for_nothing() -> None:
    steps = [("", {"reasoning": "Hm so"}), ("", {"content": "Yes"})]
    assert explained_tokens(read(chat(steps))) == len(encode(THOUGHT + ANSWERED))
    call = {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": '{"a":1}'}}]}
    assert explained_tokens(read(chat([*steps[:1], ("", call)]))) == len(encode(THOUGHT + CALLED))
    for endpoint in (Endpoint.COMPLETIONS, Endpoint.TOKENS, Endpoint.RESPONSES):
        assert explained_tokens(read(Capture(header=Header(endpoint=endpoint), events=[]))) is None
