from dataclasses import replace

import pytest

from inspector.capture.capture import Endpoint
from inspector.capture.errors import ConnectionFailed, InspectorError
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest, body, parse_messages, parse_tools

WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
REQUEST = LiveRequest(
    model="m",
    prompt="Hi",
    tools=[WEATHER],
    tool_choice={"type": "function", "function": {"name": "get_weather"}},
    reasoning_effort="low",
    max_tokens=20,
    temperature=0.0,
    seed=7,
    logprobs=True,
)


def test_chat_asks_for_token_ids_and_usage() -> None:
    assert body(REQUEST) == {
        "model": "m",
        "stream": True,
        "messages": [{"role": "user", "content": "Hi"}],
        "stream_options": {"include_usage": True},
        "tools": [WEATHER],
        "tool_choice": {"type": "function", "function": {"name": "get_weather"}},
        "reasoning_effort": "low",
        "logprobs": True,
        "return_token_ids": True,
        "seed": 7,
        "max_tokens": 20,
        "temperature": 0.0,
    }


def test_responses_gets_its_own_names() -> None:
    assert body(replace(REQUEST, endpoint=Endpoint.RESPONSES, background=True)) == {
        "model": "m",
        "stream": True,
        "input": "Hi",
        "tools": [{"type": "function", "name": "get_weather", "parameters": {"type": "object"}}],
        "tool_choice": {"type": "function", "name": "get_weather"},
        "reasoning": {"effort": "low"},
        "max_output_tokens": 20,
        "include": ["message.output_text.logprobs"],
        "top_logprobs": 1,
        "background": True,
        "store": True,
        "enable_response_messages": True,
        "seed": 7,
        "temperature": 0.0,
    }


def test_completions_sends_the_rendered_prompt_as_ids() -> None:
    request_body = body(LiveRequest(model="m", endpoint=Endpoint.COMPLETIONS, prompt_ids=[1, 2]))
    assert request_body["prompt"] == [1, 2]
    assert request_body["return_token_ids"] is True
    assert request_body["skip_special_tokens"] is False


def test_extra_keys_win() -> None:
    assert body(replace(REQUEST, extra={"temperature": 1, "min_p": 0.1}))["temperature"] == 1


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ('[{"role": "user", "content": "Hi"}]', ["user"]),
        ('{"role": "user", "content": "Hi"}', ["user"]),
        ('{"model": "x", "messages": [{"role": "system"}, {"role": "user"}]}', ["system", "user"]),
    ],
)
def test_messages_are_read_as_people_have_them(text: str, roles: list[str]) -> None:
    assert [message["role"] for message in parse_messages(text)] == roles


@pytest.mark.parametrize("text", ["{", "[]", "[1]", '"x"', '[{"content": "no role"}]', "[" * 100_000])
def test_messages_that_are_none_are_refused_with_the_place(text: str) -> None:
    with pytest.raises(InspectorError, match=r"messages must be|invalid JSON in messages"):
        parse_messages(text)


def test_bare_functions_get_their_wrapping() -> None:
    assert parse_tools('{"name": "f"}') == [{"type": "function", "function": {"name": "f"}}]
    assert parse_tools('{"tools": [{"type": "web_search_preview"}]}') == [{"type": "web_search_preview"}]


@pytest.mark.parametrize(
    "address",
    [
        "localhost:8000",
        "http://localhost:8000",
        "http://localhost:8000/",
        "http://localhost:8000/v1/",
        "http://localhost:8000/v1/chat/completions",
        " http://localhost:8000/v1/responses?x=1 ",
    ],
)
def test_addresses_are_read_as_people_paste_them(address: str) -> None:
    server = Server(base_url=address)
    assert server.v1 == "http://localhost:8000/v1"
    assert server.root == "http://localhost:8000"


def test_an_address_with_a_path_keeps_it() -> None:
    assert Server(base_url="https://host/playback/v1").v1 == "https://host/playback/v1"
    assert Server(base_url="https://host/tap/main/v1").root == "https://host/tap/main"


@pytest.mark.parametrize(
    "address", ["", "ftp://host/v1", "http://", "http://host:99999999", "http://a b", "http://me:pw@host"]
)
def test_what_is_no_address_is_refused_without_showing_a_password(address: str) -> None:
    with pytest.raises(ConnectionFailed, match="use the form http://localhost:8000/v1") as refused:
        Server(base_url=address)
    assert "pw@" not in str(refused.value)
