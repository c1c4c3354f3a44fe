"""Options of a live request to the JSON body of each endpoint. No I/O.

The same request works for all endpoints: messages and tools are in the format of chat completions
and become a Responses input, the blocks of Messages (`messages_request`), or a Harmony prompt for plain
completions (see `ground_truth`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from inspector.capture.capture import Endpoint
from inspector.capture.errors import InspectorError
from inspector.net.client.messages_request import messages_body
from inspector.protocol.engines import DEFAULT, Engine
from inspector.protocol.wire.endpoints import spec_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRequest:
    """The parameters of a request; None leaves the choice to the server."""

    model: str
    endpoint: Endpoint = Endpoint.CHAT
    prompt: str = ""
    """The user's text; ignored when `messages` are given. For completions: plain text, rendered."""
    messages: Sequence[Mapping[str, Any]] = ()
    """Chat messages."""
    tools: Sequence[Mapping[str, Any]] = ()
    """Tools in the form of chat completions; Responses gets its flat form."""
    tool_choice: str | Mapping[str, Any] | None = None
    reasoning_effort: str | None = None
    """`low`, `medium` or `high`."""
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    logprobs: bool = False
    """Request the logprob of each token: weaker evidence than token IDs, for servers that send none."""
    token_ids: bool = True
    """Ask for token IDs, with the keys that the server knows (`return_token_ids` on vLLM)."""
    background: bool = False
    """Responses only: the server continues if the connection breaks, and the stream is resumed."""
    prompt_ids: Sequence[int] = ()
    """Completions only: the rendered prompt."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """More keys of the body; they override the others."""

    def chat_messages(self) -> list[dict[str, Any]]:
        """The messages, or the prompt as one."""
        if self.messages:
            return [dict(message) for message in self.messages]
        return [{"role": "user", "content": self.prompt}]


def body(request: LiveRequest, engine: Engine = DEFAULT) -> dict[str, Any]:
    """The JSON body of a streamed request to a server of that engine.

    vLLM's own keys: `return_token_ids` (chat, completions) and `enable_response_messages` (Responses:
    the final object then carries the Harmony messages as the server read them). Raises InspectorError for an
    endpoint that no server is asked at.
    """
    parameters: dict[str, Any] = {"model": request.model, "stream": True}
    for key in ("temperature", "top_p"):
        if (value := getattr(request, key)) is not None:
            parameters[key] = value
    match request.endpoint:
        case Endpoint.RESPONSES:
            _responses(request, parameters)
        case Endpoint.COMPLETIONS:
            parameters |= {"prompt": list(request.prompt_ids) or request.prompt, "skip_special_tokens": False}
            parameters |= {"stream_options": {"include_usage": True}}
            if request.max_tokens is not None:
                parameters["max_tokens"] = request.max_tokens
            if request.logprobs:
                parameters["logprobs"] = 1
        case Endpoint.CHAT:
            _chat(request, parameters)
        case Endpoint.MESSAGES:
            parameters |= messages_body(request.chat_messages(), request.tools, request.tool_choice)
            parameters["max_tokens"] = request.max_tokens or spec_of(request.endpoint).least["max_tokens"]
            if request.reasoning_effort:
                parameters["output_config"] = {"effort": request.reasoning_effort}
        case Endpoint.TOKENS:
            raise InspectorError("token ids are read from files; no server is asked for them")
        case _:
            assert_never(request.endpoint)
    if request.token_ids:
        parameters |= engine.evidence_request(spec_of(request.endpoint))
    if request.seed is not None:
        # OpenAI's Responses has no seed; vLLM 0.32 reads this one, 0.13 ignores it.
        parameters["seed"] = request.seed
    return {**parameters, **request.extra}


def _chat(request: LiveRequest, parameters: dict[str, Any]) -> None:
    parameters |= {"messages": request.chat_messages(), "stream_options": {"include_usage": True}}
    if request.tools:
        parameters["tools"] = [dict(tool) for tool in request.tools]
    if request.tool_choice is not None:
        parameters["tool_choice"] = request.tool_choice
    if request.reasoning_effort:
        parameters["reasoning_effort"] = request.reasoning_effort
    if request.max_tokens is not None:
        parameters["max_tokens"] = request.max_tokens
    if request.logprobs:
        parameters["logprobs"] = True


def _responses(request: LiveRequest, parameters: dict[str, Any]) -> None:
    parameters["input"] = request.prompt if not request.messages else request.chat_messages()
    if request.tools:
        parameters["tools"] = [_flat(tool) for tool in request.tools]
    if request.tool_choice is not None:
        parameters["tool_choice"] = (
            _flat(request.tool_choice) if isinstance(request.tool_choice, Mapping) else request.tool_choice
        )
    if request.reasoning_effort:
        parameters["reasoning"] = {"effort": request.reasoning_effort}
    if request.max_tokens is not None:
        parameters["max_output_tokens"] = request.max_tokens
    if request.logprobs:
        parameters |= {"include": ["message.output_text.logprobs"], "top_logprobs": 1}
    if request.background:
        parameters |= {"background": True, "store": True}


def _flat(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool of chat completions as Responses has it: the function's keys beside `type`."""
    function = tool.get("function")
    if tool.get("type") == "function" and isinstance(function, Mapping):
        return {"type": "function", **function}
    return dict(tool)


def parse_messages(text: str) -> list[dict[str, Any]]:
    """Messages from user-written JSON: a list, one message, or a whole request body.

    Raises InspectorError with the position of the error.
    """
    value = _json(text, "messages")
    if isinstance(value, dict):
        value = value.get("messages", [value])
    if not isinstance(value, list) or not value or not all(_is_message(item) for item in value):
        raise InspectorError(
            'messages must be a list of objects with a role, as in [{"role": "user", "content": "Hello"}]'
        )
    return value


def parse_tools(text: str) -> list[dict[str, Any]]:
    """Tools from user-written JSON; bare functions are wrapped.

    Raises InspectorError with the position of the error.
    """
    value = _json(text, "tools")
    if isinstance(value, dict):
        value = value.get("tools", [value])
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InspectorError(
            'tools must be a list of objects, as in [{"type": "function", "function": {"name": "f"}}]'
        )
    return [item if "type" in item else {"type": "function", "function": item} for item in value]


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InspectorError(
            f"invalid JSON in {what}: {error.msg} in line {error.lineno}, column {error.colno}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InspectorError(f"invalid JSON in {what}: {error}") from error


def _is_message(item: object) -> bool:
    return isinstance(item, dict) and isinstance(item.get("role"), str)
