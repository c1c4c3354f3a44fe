"""A conversation of chat completions as the body of a Messages request.

The form is that of the `anthropic` SDK 2.14 (`MessageCreateParams`): instructions are beside the messages,
calls and results of tools are blocks, and results are the user's.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from inspector.protocol.wire.stream import loads

_CHOICES: Final = {"auto": "auto", "required": "any", "none": "none"}


def messages_body(
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]] = (),
    tool_choice: str | Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """System text, messages, tools and the choice of a tool; content of any other form stays as it is."""
    body: dict[str, Any] = {}
    if system := "\n\n".join(_text(message) for message in messages if _instructs(message)):
        body["system"] = system
    body["messages"] = [_message(message) for message in messages if not _instructs(message)]
    if tools:
        body["tools"] = [messages_tool(tool.get("function", tool)) for tool in tools]
    if isinstance(tool_choice, Mapping):
        function = tool_choice.get("function", tool_choice)
        name = function.get("name") if isinstance(function, Mapping) else None
        body["tool_choice"] = dict(tool_choice) if name is None else {"type": "tool", "name": name}
    elif tool_choice is not None:
        body["tool_choice"] = {"type": _CHOICES.get(tool_choice, tool_choice)}
    return body


def messages_tool(function: Mapping[str, Any]) -> dict[str, Any]:
    """A function as a tool of Messages."""
    tool = {key: value for key, value in function.items() if key not in {"parameters", "type"}}
    return {
        **tool,
        "input_schema": function.get("input_schema", function.get("parameters", {"type": "object"})),
    }


def _instructs(message: Mapping[str, Any]) -> bool:
    return message.get("role") in {"system", "developer"}


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
    return "".join(text for text in texts if isinstance(text, str))


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    if message.get("role") == "tool":
        result = {
            "type": "tool_result",
            "tool_use_id": message.get("tool_call_id"),
            "content": _text(message),
        }
        return {"role": "user", "content": [result]}
    blocks = list(_blocks(message))
    if not blocks:
        return {"role": message.get("role"), "content": message.get("content") or ""}
    content = message.get("content")
    said = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    thinking = [block for block in blocks if block["type"] == "thinking"]
    return {"role": message.get("role"), "content": [*thinking, *said, *blocks[len(thinking) :]]}


def _blocks(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What chat has beside the content: reasoning first, then calls."""
    reasoning = message.get("reasoning") or message.get("reasoning_content")
    if isinstance(reasoning, str) and reasoning:
        yield {"type": "thinking", "thinking": reasoning, "signature": ""}
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            given = loads(str(function.get("arguments") or "{}"))
            arguments = given if isinstance(given, dict) else {}
            yield {"type": "tool_use", "id": call.get("id"), "name": function.get("name"), "input": arguments}
