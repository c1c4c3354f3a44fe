"""The Harmony prompt as token ids: what `/v1/completions` needs to show every sampled token.

Plain completions are never parsed as Harmony, so their stream carries each token whatever the server's
parser does. The prompt must be the one that chat would render. Three sources, best first:

1. `POST /v1/chat/completions/render` (vLLM 0.18 and newer; 0.32 wants `--enable-scale-out`), the server's
   own rendering.
2. A chat request for one token with `return_token_ids` (vLLM 0.10.2 and newer): its answer carries
   `prompt_token_ids`, again the server's own rendering.
3. `openai_harmony`: the same format, but the server may put another date or identity into it.

Chat goes on to the end of the model's context where nothing limits it; completions stop after 16 tokens
then (vLLM 0.10 to 0.32, even for `"max_tokens": null`), so they are told how much room there is.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import httpx
from openai_harmony import (
    Author,
    Conversation,
    DeveloperContent,
    HarmonyError,
    Message,
    ReasoningEffort,
    Role,
    SystemContent,
    ToolDescription,
)

from inspector.capture import Endpoint
from inspector.client.address import Server
from inspector.client.request import LiveRequest, body
from inspector.errors import InspectorError
from inspector.harmony.vocab import encoding
from inspector.wire.endpoints import spec_of
from inspector.wire.stream import loads, token_ids

__all__ = ["RenderedPrompt", "answer_room", "render_locally", "rendered_prompt"]

_EFFORTS: Final = {
    "low": ReasoningEffort.LOW,
    "medium": ReasoningEffort.MEDIUM,
    "high": ReasoningEffort.HIGH,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPrompt:
    """A prompt as token ids."""

    ids: tuple[int, ...]
    source: str
    """Who rendered it, one sentence."""


async def rendered_prompt(server: Server, request: LiveRequest, client: httpx.AsyncClient) -> RenderedPrompt:
    """The ids that the server's chat endpoint would continue for `request`.

    Raises InspectorError when the messages cannot be rendered at all.
    """
    chat = body(replace(request, endpoint=Endpoint.CHAT, token_ids=True, logprobs=False, extra={}))
    del chat["stream"], chat["stream_options"]
    path = spec_of(Endpoint.CHAT).path
    for where, sent, key, source in (
        (f"{path}/render", chat, "token_ids", "The server rendered the prompt (/render)."),
        (
            path,
            {**chat, "max_tokens": 1},
            "prompt_token_ids",
            "The server rendered the prompt (told by a chat request for one token).",
        ),
    ):
        try:
            answer = await client.post(f"{server.v1}{where}", json=sent)
        except httpx.HTTPError:
            break  # the completions request will meet the same failure, and say it
        found = loads(answer.text) if answer.status_code == 200 else None
        if isinstance(found, dict) and (ids := token_ids(found.get(key))):
            return RenderedPrompt(ids=tuple(ids), source=source)
    return RenderedPrompt(
        ids=tuple(render_locally(request)),
        source="The prompt was rendered here with openai_harmony; "
        "the server may render another system message.",
    )


async def answer_room(server: Server, request: LiveRequest, client: httpx.AsyncClient) -> int | None:
    """Tokens that fit behind the prompt, by `max_model_len` of the model list; None when it is not said."""
    try:
        answer = await client.get(f"{server.v1}/models")
    except httpx.HTTPError:
        return None  # the completions request will meet the same failure, and say it
    found = loads(answer.text) if answer.status_code == 200 else None
    listed = found.get("data") if isinstance(found, dict) else None
    cards = [card for card in listed if isinstance(card, dict)] if isinstance(listed, list) else []
    card = next((card for card in cards if card.get("id") == request.model), cards[0] if cards else {})
    longest = card.get("max_model_len")
    if not isinstance(longest, int) or isinstance(longest, bool):
        return None
    return max(longest - len(request.prompt_ids), 1)


def render_locally(request: LiveRequest) -> list[int]:
    """The prompt as openai_harmony renders it, ending in `<|start|>assistant`.

    Raises InspectorError for messages that it cannot render.
    """
    system = SystemContent.new()
    if request.reasoning_effort in _EFFORTS:
        system = system.with_reasoning_effort(_EFFORTS[request.reasoning_effort])
    tools = [_tool(function) for function in map(_function, request.tools) if function is not None]
    messages = request.chat_messages()
    instructions = "\n\n".join(
        _text(message) for message in messages if message.get("role") in {"system", "developer"}
    )
    found = [Message.from_role_and_content(Role.SYSTEM, system)]
    if instructions or tools:
        developer = DeveloperContent.new()
        if instructions:
            developer = developer.with_instructions(instructions)
        if tools:
            developer = developer.with_function_tools(tools)
        found.append(Message.from_role_and_content(Role.DEVELOPER, developer))
    names: dict[str, str] = {}
    for message in messages:
        found.extend(_conversation(message, names))
    try:
        return list(
            encoding().render_conversation_for_completion(Conversation.from_messages(found), Role.ASSISTANT)
        )
    except HarmonyError as error:
        raise InspectorError(f"openai_harmony cannot render these messages: {error}") from error


def _conversation(message: Mapping[str, Any], names: dict[str, str]) -> Sequence[Message]:
    """Harmony messages of one chat message; `names` learns the function of each tool call."""
    text = _text(message)
    match message.get("role"):
        case "user":
            return [Message.from_role_and_content(Role.USER, text)]
        case "assistant":
            found = []
            reasoning = message.get("reasoning") or message.get("reasoning_content")
            calls = message.get("tool_calls")
            calls = calls if isinstance(calls, list) else []
            if isinstance(reasoning, str) and calls:  # Harmony drops reasoning of finished turns
                found.append(
                    Message.from_role_and_content(Role.ASSISTANT, reasoning).with_channel("analysis")
                )
            if text:
                channel = "commentary" if calls else "final"
                found.append(Message.from_role_and_content(Role.ASSISTANT, text).with_channel(channel))
            for call in calls:
                function = call.get("function", {}) if isinstance(call, dict) else {}
                name = str(function.get("name"))
                names[str(call.get("id"))] = name
                found.append(
                    Message.from_role_and_content(Role.ASSISTANT, str(function.get("arguments", "")))
                    .with_channel("commentary")
                    .with_recipient(f"functions.{name}")
                    .with_content_type("json")
                )
            return found
        case "tool":
            name = names.get(str(message.get("tool_call_id")), str(message.get("name", "unknown")))
            author = Author.new(Role.TOOL, f"functions.{name}")
            return [
                Message.from_author_and_content(author, text)
                .with_channel("commentary")
                .with_recipient("assistant")
            ]
        case _:
            return []


def _function(tool: Mapping[str, Any]) -> Mapping[str, Any] | None:
    function = tool.get("function", tool)
    return function if isinstance(function, Mapping) and isinstance(function.get("name"), str) else None


def _tool(function: Mapping[str, Any]) -> ToolDescription:
    parameters = function.get("parameters")
    return ToolDescription.new(
        str(function["name"]),
        str(function.get("description", "")),
        parameters=dict(parameters) if isinstance(parameters, Mapping) else None,
    )


def _text(message: Mapping[str, Any]) -> str:
    """The text of a message, of its text parts when it has several."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    return "" if content is None else json.dumps(content)
