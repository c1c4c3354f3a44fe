"""What a request asks the server to put into the prompt, message by message: chat, and the shared parts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from inspector.capture.formats import clip, number

EFFORTS: Final = ("low", "medium", "high")
"""Reasoning efforts that a Harmony system message can hold."""

_MESSAGES_AT_MOST: Final = 4000
# Tuples: a request may have a list or an object where one of these is expected, which no set takes.
_TEXT_PARTS: Final = ("text", "input_text", "output_text", "reasoning_text")
_BUILT_IN: Final = ("web_search_preview", "code_interpreter", "container")
"""Types of tools that a server runs itself; the system message is the only place for them."""
_OWN_TEMPLATE: Final = ("chat_template", "documents", "continue_final_message")
"""Request keys after which no one but the server knows the prompt."""


class ItemKind(StrEnum):
    """What one Harmony message of the history is."""

    USER = "user message"
    REASONING = "reasoning"
    PREAMBLE = "text beside a tool call"
    ANSWER = "answer"
    CALL = "tool call"
    RESULT = "tool result"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryItem:
    """One Harmony message that the history asks for."""

    kind: ItemKind
    text: str
    message: int
    """The request's message, counted from 0."""
    name: str | None = None
    """The function, of a call or a result; None when a result does not say it."""
    needed: bool = True
    """False for what a server may leave out: reasoning of finished turns, empty texts."""
    channels: tuple[str, ...] = ()
    """Channels that it may have, the usual one first; empty where its kind says them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that the request offers."""

    name: str
    description: str
    parameters: Mapping[str, Any] | None


@dataclass(slots=True)
class Requested:
    """All that a request asks the server to put into the prompt."""

    instructions: list[tuple[int | None, str]] = field(default_factory=list)
    """System and developer messages: number and text; no number for the `instructions` of Responses."""
    tools: list[Tool] = field(default_factory=list)
    tools_optional: bool = False
    """True where `tool_choice` lets a server leave tools out."""
    effort: str | None = None
    items: list[HistoryItem] = field(default_factory=list)
    unknown: str = ""
    """Why the prompt cannot be compared, one sentence; empty when it can."""

    def leave_uncompared(self, why: str) -> None:
        """Keep the first reason why it cannot be compared."""
        self.unknown = self.unknown or why


def requested_by_chat(request: Mapping[str, Any]) -> Requested:
    """Read the body of a chat request; what cannot be rendered is left out, and `unknown` says so."""
    requested = begin(request)
    for key in _OWN_TEMPLATE:
        if request.get(key):
            requested.leave_uncompared(
                f"The request sets {key}, so only the server knows what the prompt should be."
            )
    messages = entries(request.get("messages"), requested)
    last_user, last_final = _last(messages)
    names: dict[str, str] = {}
    for index, message in enumerate(messages):
        if isinstance(message, Mapping):
            current = index > last_user and index > last_final
            _message(index, message, requested, names, current=current)
    return requested


def begin(request: Mapping[str, Any]) -> Requested:
    """What all requests say in the same keys: reasoning effort and tools."""
    requested = Requested(effort=_effort(request))
    choice = request.get("tool_choice")
    requested.tools_optional = choice == "none" or isinstance(choice, Mapping)
    _tools(request.get("tools"), requested)
    return requested


def entries(history: object, requested: Requested) -> Sequence[object]:
    """The history of a request, bounded; what is not a message stays in it and prevents the comparison."""
    messages = history if isinstance(history, list) else []
    if not messages:
        requested.leave_uncompared("The capture has no messages of a request to compare the prompt with.")
    if len(messages) > _MESSAGES_AT_MOST:
        requested.leave_uncompared(
            f"The request has {number(len(messages))} messages; at most {number(_MESSAGES_AT_MOST)} are "
            "compared."
        )
        messages = messages[:_MESSAGES_AT_MOST]
    for index, message in enumerate(messages):
        if not isinstance(message, Mapping):
            requested.leave_uncompared(f"Message {index} of the request is not an object.")
    return messages


def _last(messages: Sequence[object]) -> tuple[int, int]:
    """The last message of the user, and the last answer of the assistant; -1 where there is none."""
    user = final = -1
    for index, message in enumerate(messages):
        if isinstance(message, Mapping):
            if message.get("role") == "user":
                user = index
            elif message.get("role") == "assistant" and message.get("content") and not _calls(message):
                final = index
    return user, final


def _message(
    index: int, message: Mapping[str, Any], requested: Requested, names: dict[str, str], *, current: bool
) -> None:
    role = message.get("role")
    text = text_in(message.get("content"), index, requested)
    match role:
        case "system" | "developer":
            if text:
                requested.instructions.append((index, text))
        case "user":
            requested.items.append(
                HistoryItem(kind=ItemKind.USER, text=text, message=index, needed=bool(text.strip()))
            )
        case "assistant":
            requested.items.extend(_assistant(index, message, text, names, current=current))
            if message.get("function_call") or message.get("audio") or message.get("refusal"):
                requested.leave_uncompared(
                    f"Message {index} of the request has keys that are not rendered here."
                )
        case "tool":
            call = message.get("tool_call_id")
            own_name = message.get("name")
            name = names.get(call) if isinstance(call, str) else None
            requested.items.append(
                HistoryItem(
                    kind=ItemKind.RESULT,
                    text=text,
                    message=index,
                    name=name or (own_name if isinstance(own_name, str) and own_name else None),
                )
            )
        case _:
            role_words = repr(clip(role, 40)) if isinstance(role, str) else "no role"
            requested.leave_uncompared(
                f"Message {index} of the request has {role_words} as its role, which is not rendered here."
            )


def _assistant(
    index: int, message: Mapping[str, Any], text: str, names: dict[str, str], *, current: bool
) -> Iterator[HistoryItem]:
    calls = _calls(message)
    reasoning = message.get("reasoning") or message.get("reasoning_content")
    if isinstance(reasoning, str) and reasoning.strip():
        yield HistoryItem(kind=ItemKind.REASONING, text=reasoning, message=index, needed=current)
    if text.strip():
        yield HistoryItem(kind=ItemKind.PREAMBLE if calls else ItemKind.ANSWER, text=text, message=index)
    for call in calls:
        function = call.get("function")
        function = function if isinstance(function, Mapping) else {}
        name, arguments = str(function.get("name")), function.get("arguments")
        if isinstance(identity := call.get("id"), str):
            names[identity] = name
        if not isinstance(arguments, str):
            arguments = "" if arguments is None else dumped(arguments)
        yield HistoryItem(kind=ItemKind.CALL, text=arguments, message=index, name=name)


def _calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []


def text_in(content: object, index: int, requested: Requested) -> str:
    """The text of the content of message `index`; other parts prevent the comparison."""
    text, strange = _text(content)
    if strange:
        requested.leave_uncompared(
            f"Message {index} of the request has a part of the type {strange!r}, which is not rendered here."
        )
    return text


def _text(content: object) -> tuple[str, str]:
    """The text of a message's content, and the type of the first part that is not text."""
    if content is None or isinstance(content, str):
        return content or "", ""
    if not isinstance(content, list):
        return dumped(content), type(content).__name__
    parts, strange = [], ""
    for part in content:
        if isinstance(part, str):
            parts.append(part)
        elif (
            isinstance(part, Mapping)
            and part.get("type", "text") in _TEXT_PARTS
            and isinstance(part.get("text"), str)
        ):
            parts.append(part["text"])
        else:
            kind = part.get("type") if isinstance(part, Mapping) else None
            strange = strange or (clip(kind, 40) if isinstance(kind, str) else "unknown")
    return "".join(parts), strange


def _tools(tools: object, requested: Requested) -> None:
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, Mapping):
            requested.leave_uncompared("A tool of the request is not an object.")
            continue
        # Responses has the function's keys in the tool itself.
        function = tool if tool.get("type") == "function" and "name" in tool else tool.get("function")
        if isinstance(function, Mapping) and isinstance(name := function.get("name"), str):
            parameters, description = function.get("parameters"), function.get("description")
            requested.tools.append(
                Tool(
                    name=name,
                    description=description if isinstance(description, str) else "",
                    parameters=parameters if isinstance(parameters, Mapping) else None,
                )
            )
        elif tool.get("type") not in _BUILT_IN:
            kind = tool.get("type")
            type_words = repr(clip(kind, 40)) if isinstance(kind, str) else "no type"
            requested.leave_uncompared(
                f"A tool of the request has {type_words} as its type, which is not rendered here."
            )


def _effort(request: Mapping[str, Any]) -> str | None:
    """The effort that the request names, in any of the places that clients use; None for another word."""
    options, reasoning = request.get("chat_template_kwargs"), request.get("reasoning")
    for value in (
        request.get("reasoning_effort"),
        reasoning.get("effort") if isinstance(reasoning, Mapping) else None,
        options.get("reasoning_effort") if isinstance(options, Mapping) else None,
    ):
        if value is not None:
            return value if value in EFFORTS else None
    return None


def dumped(value: object) -> str:
    """A value as JSON; empty for one that cannot be written so."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""
