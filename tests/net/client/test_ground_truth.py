import json
from dataclasses import replace
from typing import Any

import pytest

from inspector.capture.capture import Endpoint
from inspector.capture.errors import InspectorError
from inspector.net.client.address import Server
from inspector.net.client.ground_truth import render_locally
from inspector.net.client.request import LiveRequest
from inspector.net.runs.registry import Registry
from inspector.net.runs.run import LiveRun
from inspector.protocol.harmony.text import text_of
from tests.support.raw_server import Answer, page, raw_server, sse, stream
from tests.support.streams import chat

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
RENDER = f"{CHAT}/render"
REQUEST = LiveRequest(model="m", endpoint=Endpoint.COMPLETIONS, prompt="Hi", tools=[{"name": "f"}])


def json_page(content: object, status: int = 200) -> Answer:
    return lambda _: [page(status, json.dumps(content), "application/json")]


def completed(_: object) -> list[bytes]:
    payload = {"choices": [{"index": 0, "text": "x", "token_ids": [200002], "finish_reason": "stop"}]}
    return list(stream([sse(payload), sse("[DONE]")]))


def sent(answers: dict[str, Answer]) -> tuple[LiveRun, object]:
    with raw_server({COMPLETIONS: completed, **answers}) as server:
        registry = Registry(None)
        run = registry.start(Server(base_url=server.v1), REQUEST)
        assert registry.wait(run, 120)
        [request_body] = server.bodies(COMPLETIONS)
    assert run.outcome.failure == ""
    return run, request_body["prompt"]


def test_the_server_s_own_rendering_comes_first() -> None:
    run, prompt = sent({RENDER: json_page({"token_ids": [200006, 1]}), CHAT: json_page({})})
    assert prompt == [200006, 1]
    assert "(/render)" in run.outcome.notes[0]


def test_then_what_a_chat_request_for_one_token_tells() -> None:
    run, prompt = sent({CHAT: json_page({"prompt_token_ids": [200006, 2], "choices": []})})
    assert prompt == [200006, 2]
    assert "chat request for one token" in run.outcome.notes[0]


def test_then_openai_harmony_renders_and_the_note_says_so() -> None:
    run, prompt = sent({})
    assert isinstance(prompt, list)
    assert text_of(prompt).endswith("<|start|>user<|message|>Hi<|end|><|start|>assistant")
    assert "rendered locally with openai_harmony" in run.outcome.notes[0]


@pytest.mark.parametrize(
    ("models", "limit"),
    [
        ({"data": [{"id": "other", "max_model_len": 9}, {"id": "m", "max_model_len": 4096}]}, 4094),
        ({"data": [{"id": "base", "max_model_len": 100}]}, 98),
        ({"data": [{"id": "m", "max_model_len": 1}]}, 1),
        ({"data": [{"id": "m"}]}, 4096),
        ({"data": [{"id": "m", "max_model_len": True}]}, 4096),
        ({"data": [5]}, 4096),
        ([], 4096),
    ],
)
def test_completions_are_told_how_much_room_there_is_as_they_end_after_16_tokens_otherwise(
    models: object, limit: int
) -> None:
    answers = {
        COMPLETIONS: completed,
        RENDER: json_page({"token_ids": [200006, 1]}),
        "/v1/models": json_page(models),
    }
    with raw_server(answers) as server:
        registry = Registry(None)
        run = registry.start(Server(base_url=server.v1), REQUEST)
        own = registry.start(Server(base_url=server.v1), replace(REQUEST, max_tokens=7))
        assert registry.wait(run, 120)
        assert registry.wait(own, 120)
        limits = sorted(request_body["max_tokens"] for request_body in server.bodies(COMPLETIONS))
    assert limits == sorted([limit, 7])
    assert ("does not report its context length" in " ".join(run.outcome.notes)) == (limit == 4096)


def test_a_conversation_with_tools_is_rendered_as_harmony_has_it() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {
            "role": "assistant",
            "reasoning": "Call it.",
            "content": None,
            "tool_calls": [{"id": "c1", "function": {"name": "get_weather", "arguments": '{"city":"Rome"}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "Sunny"},
    ]
    function = {"name": "get_weather", "description": "Weather.", "parameters": {"type": "object"}}
    request = LiveRequest(
        model="m",
        messages=messages,
        tools=[{"type": "function", "function": function}],
        reasoning_effort="high",
    )
    text = text_of(render_locally(request))
    for part in (
        "Reasoning: high",
        "# Instructions\n\nBe brief.",
        "namespace functions",
        "<|start|>user<|message|>Weather?<|end|>",
        "<|channel|>analysis<|message|>Call it.",
        "<|start|>assistant<|channel|>commentary to=functions.get_weather",
        '<|message|>{"city":"Rome"}<|call|><|start|>functions.get_weather',
        "to=assistant<|message|>Sunny<|end|>",
    ):
        assert part in text, part
    assert text.endswith("<|start|>assistant")


@pytest.mark.parametrize("content", [None, 5, [1, {"text": 2}], {"a": 1}])
def test_content_of_any_shape_is_rendered(content: object) -> None:
    assert render_locally(LiveRequest(model="m", messages=[{"role": "user", "content": content}]))


def test_both_at_once_sends_the_same_prompt_seed_and_temperature() -> None:
    played = chat([("<|channel|>final<|message|>", {}), ("Hi", {"content": "Hi"}), ("<|return|>", {})])
    chat_stream = [sse(event.data) for event in played.events]
    with raw_server(
        {
            CHAT: lambda _: stream(chat_stream),
            RENDER: json_page({"token_ids": [200006]}),
            COMPLETIONS: completed,
        }
    ) as server:
        registry = Registry(None)
        run, truth = registry.start_both(Server(base_url=server.v1), LiveRequest(model="m", prompt="Hi"))
        assert registry.wait(run, 120)
        assert registry.wait(truth, 120)
        [chat_body], [truth_body] = server.bodies(CHAT), server.bodies(COMPLETIONS)
    assert (run.pair, truth.pair) == (truth.id, run.id)
    assert (
        (chat_body["seed"], chat_body["temperature"])
        == (truth_body["seed"], truth_body["temperature"])
        == (0, 0.0)
    )
    assert truth_body["prompt"] == [200006]
    assert truth.reading().choice.tokens.ids == [200002]


def test_completions_are_their_own_ground_truth() -> None:
    with pytest.raises(InspectorError, match="already are the ground truth"):
        Registry(None).start_both(Server(), REQUEST)
