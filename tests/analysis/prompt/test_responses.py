"""Prompts of Responses: rendered from what the final object tells, and compared with the request's items."""

import json
from typing import Any

import pytest
from openai_harmony import Conversation, Message, Role

from inspector import Capture, Endpoint, Event, Header
from inspector.analysis.prompt import Prompt, PromptSource, difference_sentence, prompt_of
from inspector.analysis.reading import read
from inspector.inspection.compare import compare
from inspector.inspection.inspection import inspect
from inspector.protocol.harmony.vocab import encode, encoding
from inspector.views.prompt_blocks import prompt_blocks
from inspector.views.prompt_rows import prompt_row
from tests.support.streams import CLOSED

NOON = 1_795_348_800
SYSTEM = {
    "role": "system",
    "content": [
        {
            "type": "system_content",
            "model_identity": "You are ChatGPT, a large language model trained by OpenAI.",
            "reasoning_effort": "Medium",
            "conversation_start_date": "2026-11-22",
            "knowledge_cutoff": "2024-06",
            "channel_config": {"valid_channels": ["analysis", "final"], "channel_required": True},
        }
    ],
}
ASK = {"role": "user", "content": "Weather in Rome?"}
CALL = {"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": '{"city": "Rome"}'}
THOUGHT = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Call it."}]}
RESULT = {"type": "function_call_output", "call_id": "c", "output": "sunny"}
TURN = [ASK, THOUGHT, CALL, RESULT]


def message(role: str, text: str, **header: Any) -> dict[str, Any]:
    return {"role": role, "name": None, "content": [{"type": "text", "text": text}], **header}


SENT = [
    SYSTEM,
    message("user", "Weather in Rome?"),
    message("assistant", "Call it.", channel="analysis"),
    message(
        "assistant",
        '{"city": "Rome"}',
        channel="commentary",
        recipient="functions.get_weather",
        content_type="json",
    ),
    {
        **message("tool", "sunny", channel="commentary", recipient="assistant"),
        "name": "functions.get_weather",
    },
]


def size(messages: list[dict[str, Any]]) -> int:
    conversation = Conversation.from_messages([Message.from_dict(message) for message in messages])
    return len(encoding().render_conversation_for_completion(conversation, Role.ASSISTANT))


def captured(request: dict[str, Any], messages: list[Any], **usage: Any) -> Capture:
    response = {"object": "response", "status": "completed", "created_at": NOON, "output": [], "usage": usage}
    final = {"type": "response.completed", "response": {**response, "input_messages": messages}}
    header = Header(
        endpoint=Endpoint.RESPONSES, request=request, started_at="2026-11-22T12:00:00Z", status=200
    )
    return Capture(header=header, events=[Event(json.dumps(final), 0.1)], end=CLOSED)


def prompt(request: dict[str, Any], messages: list[Any], **usage: Any) -> Prompt | None:
    return prompt_of(read(captured(request, messages, **usage)))


def differences(request: dict[str, Any], messages: list[Any]) -> list[str]:
    parsed = prompt(request, messages, input_tokens=size(messages))
    assert parsed is not None
    assert not parsed.unknown, parsed.unknown
    return [difference_sentence(difference) for difference in parsed.differences]


def test_a_turn_with_a_tool_call_is_drawn_and_contains_what_the_request_asks_for() -> None:
    parsed = prompt({"input": TURN}, SENT, input_tokens=size(SENT))
    assert parsed is not None
    assert (parsed.source, parsed.counted, parsed.differences) == (PromptSource.RENDERED, len(parsed.ids), ())
    roles = ["system", "user", "assistant", "assistant", "tool", "assistant"]
    assert [message.role for message in parsed.messages] == roles
    assert "counted the same number of tokens" in prompt_blocks(parsed)["source"]
    row = prompt_row(parsed)
    assert row is not None
    assert (row["source"], row["counted"], row["identical"]) == ("rendered", row["tokens"], False)
    assert differences({"input": "Weather in Rome?"}, SENT[:2]) == []


@pytest.mark.parametrize(
    ("request_body", "messages", "sentences"),
    [
        (
            {"input": TURN},
            [*SENT[:2], *SENT[3:]],
            [
                "The reasoning in message 1 of the request is not in the prompt, so the model continues "
                "after its tool call without it."
            ],
        ),
        (
            {"input": "Weather in Rome?", "instructions": "Be brief."},
            SENT[:2],
            ["The instructions of the request are not in the prompt."],
        ),
        (
            {"input": "Weather in Rome?", "reasoning": {"effort": "high"}},
            SENT[:2],
            ["The request asks for reasoning effort high; the prompt says medium."],
        ),
        (
            {
                "input": "Weather in Rome?",
                "tools": [{"type": "function", "name": "get_weather", "parameters": {"type": "object"}}],
            },
            SENT[:2],
            ["The tool get_weather of the request is not in the prompt."],
        ),
        (
            {"input": [*TURN, {"role": "assistant", "content": [{"type": "output_text", "text": "Sunny."}]}]},
            SENT,
            ["Message 4 of the request (answer) is not in the prompt."],
        ),
    ],
)
def test_what_differs_is_said_as_for_chat(
    request_body: dict[str, Any], messages: list[Any], sentences: list[str]
) -> None:
    assert differences(request_body, messages) == sentences


@pytest.mark.parametrize(
    ("request_body", "words"),
    [
        ({"input": TURN, "previous_response_id": "r"}, "sets previous_response_id"),
        ({"input": [ASK, {"type": "web_search_call"}]}, "'web_search_call' as its type"),
        ({"input": [ASK, {"role": "user", "content": [{"type": "input_image"}]}]}, "'input_image'"),
        ({"input": [ASK, {"role": "critic", "content": ""}]}, "'critic' as its role"),
        ({}, "no messages"),
        ({"input": [5]}, "Message 0"),
    ],
)
def test_what_is_not_rendered_here_is_said_and_never_a_difference(
    request_body: dict[str, Any], words: str
) -> None:
    parsed = prompt(request_body, SENT)
    assert parsed is not None
    assert parsed.differences == ()
    assert words in parsed.unknown


def test_a_rendering_of_another_size_is_shown_with_the_count() -> None:
    parsed = prompt(
        {"input": TURN}, SENT, input_tokens=1, input_tokens_details={"input_tokens_per_turn": [7]}
    )
    assert parsed is not None
    assert prompt_blocks(parsed)["source"].endswith("the server counted 7 tokens")


def test_tokens_that_the_server_tells_are_taken_as_they_are() -> None:
    ids = encode("<|start|>user<|message|>Hi<|end|><|start|>assistant")
    parsed = prompt({"input": "Hi"}, [{"type": "raw_message_tokens", "message": "", "tokens": ids}])
    assert parsed is not None
    assert parsed.ids == ids


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [5],
        [{}],
        [{"role": "critic", "content": []}],
        [{"role": "user", "content": [{"type": "image"}]}],
        [{"role": "user", "content": [{"type": "text", "text": "\ud800"}]}],
        [{"role": "user", "content": [{"type": "text", "text": "a" * 2_000_001}]}],
        [{"tokens": "x"}],
        [message("user", "Hi")] * 8_001,
    ],
)
def test_messages_that_cannot_be_rendered_make_no_prompt(messages: list[Any]) -> None:
    assert prompt({"input": "Hi"}, messages) is None


def test_a_comparison_finds_the_first_token_that_differs() -> None:
    left, right = (
        inspect(captured({"input": text}, [SYSTEM, message("user", text)]))
        for text in ("Hi Rome", "Hi Paris")
    )
    first = compare(left, right).prompt
    assert first is not None
    assert (first.left.message, first.left.text[:5], first.right.text[:6]) == (1, " Rome", " Paris")
    assert compare(left, left).prompt is None
