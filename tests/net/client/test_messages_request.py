"""A conversation of chat completions in the form of Messages."""

import json
from typing import Any

import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from pydantic import TypeAdapter

from inspector.capture.capture import Endpoint
from inspector.matrix.requests import request_body
from inspector.matrix.scripts import load
from inspector.net.client.messages_request import messages_body
from inspector.net.client.questions import WEATHER
from inspector.net.client.request import LiveRequest, body

ARGUMENTS = {"city": "Paris"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": json.dumps(ARGUMENTS)}}
CONVERSATION: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": [{"type": "text", "text": "In French."}]},
    {"role": "user", "content": "Weather?"},
    {"role": "assistant", "content": None, "reasoning": "Need weather.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "Rain."},
    {"role": "assistant", "content": "Il pleut."},
]
ACCEPTED = TypeAdapter(MessageCreateParamsNonStreaming)


def test_instructions_stand_beside_the_messages_and_calls_are_blocks() -> None:
    assert messages_body(CONVERSATION) == {
        "system": "Be brief.\n\nIn French.",
        "messages": [
            {"role": "user", "content": "Weather?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Need weather.", "signature": ""},
                    {"type": "tool_use", "id": "call_1", "name": "f", "input": ARGUMENTS},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "Rain."}],
            },
            {"role": "assistant", "content": "Il pleut."},
        ],
    }


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", {"type": "auto"}),
        ("required", {"type": "any"}),
        ("none", {"type": "none"}),
        ({"type": "function", "function": {"name": "f"}}, {"type": "tool", "name": "f"}),
        ({"type": "any"}, {"type": "any"}),
    ],
)
def test_the_choice_of_a_tool(choice: str | dict[str, Any], sent: dict[str, Any]) -> None:
    assert messages_body(CONVERSATION, [WEATHER], choice)["tool_choice"] == sent


def test_the_sdk_takes_what_is_sent() -> None:
    request = LiveRequest(
        model="m", endpoint=Endpoint.MESSAGES, messages=CONVERSATION, tools=[WEATHER], tool_choice="required"
    )
    bodies = [body(request)] + [request_body(Endpoint.MESSAGES, script) for script in load()]
    for sent in bodies:
        own = {"stream", "temperature", "ignore_eos"}  # the SDK sets `stream`; the others it has not
        ACCEPTED.validate_python({key: value for key, value in sent.items() if key not in own}, strict=True)


@pytest.mark.parametrize(
    "odd", [None, [], {}, "x", [1], [{"function": 1}], [{"function": {"arguments": "["}}]]
)
def test_any_history_becomes_a_body(odd: object) -> None:
    for role in ("system", "user", "assistant", "tool"):
        message = {"role": role, "content": odd, "tool_calls": odd, "reasoning": odd}
        assert json.dumps(messages_body([message]))
