"""Every place of a request or a response that may hold text: nothing of it stays."""

import json
from base64 import b64encode
from dataclasses import replace
from typing import Any

import pytest

from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header, render
from inspector.inspection.masking import Standins, masked
from inspector.protocol.harmony.vocab import encode_plain

SECRET = "grandmother"
SECRET_IDS = encode_plain(f" my {SECRET} likes zebras")


def asked(request: dict[str, Any], **header: Any) -> Capture:
    """A request with a response that has nothing to hide."""
    chunk = {"choices": [{"index": 0, "delta": {"content": "Hello"}, "finish_reason": "stop"}]}
    return replace(capture_of(chunk, **header), header=Header(endpoint=Endpoint.CHAT, request=request))


def capture_of(payload: Any, *, kind: EventKind = EventKind.SSE, status: int = 200, **header: Any) -> Capture:
    """A response of one event."""
    endpoint = Endpoint.RESPONSES if "type" in payload else Endpoint.CHAT
    return Capture(
        header=Header(endpoint=endpoint, status=status, **header),
        events=[Event(json.dumps(payload), 0.1, "", kind)],
        end=End(at_s=0.2, cut=False),
    )


def item(value: Any) -> Capture:
    return capture_of({"type": "response.output_item.done", "output_index": 0, "item": {"id": "i", **value}})


def tool(parameters: Any) -> Capture:
    function = {"name": "f", "parameters": {"type": "object", **parameters}}
    return asked({"tools": [{"type": "function", "function": function}]})


ENTRY = {"token": SECRET, "logprob": -0.1, "bytes": list(SECRET.encode()), "top_logprobs": []}
HIDDEN = {
    "values of metadata under a name that the protocol has": asked(
        {"metadata": {"id": SECRET, "code": SECRET}}
    ),
    "names in metadata": asked({"metadata": {SECRET: "1"}}),
    "names of headers": asked({"tools": [{"type": "mcp", "headers": {f"X-{SECRET}": "1"}}]}),
    "defaults and examples of a schema": tool(
        {"properties": {"a": {"default": {"id": SECRET, SECRET: 1}, "examples": [{"type": SECRET}]}}}
    ),
    "names of a schema": tool({"dependentRequired": {SECRET: ["a"]}}),
    "variables of a prompt": asked({"prompt": {"id": "p", "variables": {SECRET: SECRET}}}),
    "arguments as an object": asked(
        {
            "messages": [
                {"role": "assistant", "tool_calls": [{"function": {"arguments": {SECRET: 1, "id": SECRET}}}]}
            ]
        }
    ),
    "a detail that is no word of the protocol": asked({"input": [{"detail": SECRET, "reason": SECRET}]}),
    "code of one word": item({"type": "code_interpreter_call", "code": SECRET}),
    "an error of a tool": item({"type": "mcp_call", "error": f"no user called {SECRET}"}),
    "a reason of a tool": item({"type": "web_search_call", "action": {"reason": SECRET}}),
    "the name of an event": replace(
        capture_of({"choices": []}), events=[Event('{"choices": []}', 0.1, f"my {SECRET}")]
    ),
    "a tool of the model's own family": capture_of(
        {
            "choices": [
                {
                    "delta": {
                        "tool_calls": [{"index": 0, "id": "c", "function": {"name": f"browser.{SECRET}"}}]
                    }
                }
            ]
        }
    ),
    "logprobs of Responses": capture_of(
        {
            "type": "response.output_text.delta",
            "delta": SECRET,
            "logprobs": [{**ENTRY, "top_logprobs": [ENTRY]}],
        }
    ),
    "what a check of the request quotes": capture_of(
        {"detail": [{"type": "missing", "loc": ["body"], "input": {SECRET: SECRET, "a": SECRET}}]},
        kind=EventKind.BODY,
        status=422,
    ),
    "what follows words of a parser": capture_of(
        {"error": {"message": f"Unexpected token 'd', \"dear {SECRET}\" is not valid JSON"}},
        kind=EventKind.BODY,
        status=400,
        request={"messages": [{"role": "user", "content": f"dear {SECRET}"}]},
    ),
    "a long run of data": asked({"input": [{"image_url": f"data:image/png;base64,{SECRET * 100}"}]}),
}


@pytest.mark.parametrize("place", HIDDEN)
def test_text_is_hidden_wherever_it_stands(place: str) -> None:
    capture = HIDDEN[place]
    assert SECRET in "\n".join(render(capture))
    rendered = "\n".join(render(masked(capture, Standins(place.encode()))))
    assert SECRET not in rendered
    assert str(list(SECRET.encode()))[1:-1] not in rendered


def test_token_ids_are_hidden_wherever_they_stand() -> None:
    possible = {
        "choices": [],
        "prompt_logprobs": [None, *({str(token_id): {"logprob": -1.0}} for token_id in SECRET_IDS)],
    }
    request = {"allowed_token_ids": SECRET_IDS, "stop_token_ids": SECRET_IDS, "prompt": [*SECRET_IDS, None]}
    for capture in (capture_of(possible), asked(request)):
        copy = masked(capture, Standins(b"ids"))
        text = json.dumps([copy.header.request, json.loads(copy.events[0].data)])
        assert [
            token_id for token_id in SECRET_IDS if f'"{token_id}":' in text or f"{token_id}," in text
        ] == []
        assert len(render_of(copy)) == pytest.approx(len(render_of(capture)), rel=0.1)


def render_of(capture: Capture) -> str:
    return "\n".join(render(capture))


def test_a_number_is_hidden_where_no_published_name_leads_to_it() -> None:
    unknown = {"age": 98_765, "x": [{"index": 43.21e-7}], "metadata": {"max_tokens": 56_789}}
    capture = replace(asked({**unknown, "max_tokens": 12_345}), notes=("98765",))
    copy = render_of(masked(capture, Standins(b"numbers")))
    assert [number for number in ("98765", "4.321e-06", "56789", "12345") if number in copy] == ["12345"]


def test_what_the_protocol_publishes_stays() -> None:
    """Else a copy would say nothing of the request, and its findings might depend on what is lost."""
    tool: dict[str, Any] = {
        "type": "function",
        "function": {"name": "f", "parameters": {"type": "object", "required": []}},
    }
    request = {
        "model": "openai/gpt-oss-20b",
        "messages": [{"role": "user", "content": ""}],
        "tools": [tool],
        "tool_choice": "auto",
        "reasoning_effort": "low",
        "stream_options": {"include_usage": True},
        "max_tokens": 5,
    }
    error = {"error": {"type": "BadRequestError", "code": 400, "param": "max_tokens", "message": ""}}
    copy = masked(
        replace(capture_of(error), header=Header(endpoint=Endpoint.CHAT, request=request)), Standins(b"p")
    )
    name = copy.header.request["tools"][0]["function"]["name"]
    assert copy.header.request == {
        **request,
        "tools": [{**tool, "function": {**tool["function"], "name": name}}],
    }
    assert json.loads(copy.events[0].data) == error


def test_an_image_is_hidden_in_no_time_and_keeps_its_length() -> None:
    data = b64encode(bytes(range(256)) * 400).decode()
    capture = asked({"input": [{"image_url": f"data:image/png;base64,{data}"}]})
    url = masked(capture, Standins(b"image")).header.request["input"][0]["image_url"]
    shown = url.rpartition(",")[2]
    assert len(shown) == len(data)
    assert not any(char == original for char, original in zip(shown, data, strict=True) if char.isalnum())
