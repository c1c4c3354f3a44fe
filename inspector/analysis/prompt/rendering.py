"""The prompt of a chat request as `openai_harmony` renders it."""

import json
from collections.abc import Iterable
from typing import Final, assert_never

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

from inspector.analysis.prompt.requested import HistoryItem, ItemKind, Requested, Tool
from inspector.capture.errors import InspectorError
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import Marker, encoding, is_endless

_RENDERED_AT_MOST: Final = 2_000_000
"""Characters of a request that is rendered here."""

_EFFORTS: Final = {
    "low": ReasoningEffort.LOW,
    "medium": ReasoningEffort.MEDIUM,
    "high": ReasoningEffort.HIGH,
}


def is_renderable(requested: Requested) -> bool:
    """False for texts that the library would take minutes for; it has no bound of its own."""
    texts = [text for _, text in requested.instructions] + [item.text for item in requested.items]
    for tool in requested.tools:
        texts += [tool.description, _dumped(tool.parameters)]
    return sum(map(len, texts)) <= _RENDERED_AT_MOST and not any(map(is_endless, texts))


def render(requested: Requested) -> list[int]:
    """The prompt, ending in `<|start|>assistant`.

    Raises InspectorError for messages that the library cannot render.
    """
    system = SystemContent.new()
    if requested.effort in _EFFORTS:
        system = system.with_reasoning_effort(_EFFORTS[requested.effort])
    instructions = "\n\n".join(text for _, text in requested.instructions)
    items = [item for item in requested.items if item.needed or item.kind is not ItemKind.REASONING]
    try:
        messages = [Message.from_role_and_content(Role.SYSTEM, system)]
        if instructions or requested.tools:
            messages.append(_developer(instructions, requested.tools))
        messages.extend(map(_harmony, items))
        return list(
            encoding().render_conversation_for_completion(
                Conversation.from_messages(messages), Role.ASSISTANT
            )
        )
    except (HarmonyError, ValueError, TypeError, RecursionError) as error:
        raise InspectorError(f"openai_harmony cannot render these messages: {error}") from error


def rendered_tools(tools: Iterable[Tool]) -> str:
    """The developer message's text about these tools; empty where the library cannot render them."""
    try:
        ids = encoding().render_conversation(Conversation.from_messages([_developer("", tools)]))
    except (HarmonyError, ValueError, TypeError, RecursionError):
        return ""
    return text_of(ids).partition(Marker.MESSAGE.text)[2].removesuffix(Marker.END.text)


def _developer(instructions: str, tools: Iterable[Tool]) -> Message:
    developer = DeveloperContent.new()
    if instructions:
        developer = developer.with_instructions(instructions)
    described = [
        ToolDescription.new(
            tool.name, tool.description, parameters=None if tool.parameters is None else dict(tool.parameters)
        )
        for tool in tools
    ]
    if described:
        developer = developer.with_function_tools(described)
    return Message.from_role_and_content(Role.DEVELOPER, developer)


def _harmony(item: HistoryItem) -> Message:
    match item.kind:
        case ItemKind.USER:
            return Message.from_role_and_content(Role.USER, item.text)
        case ItemKind.REASONING:
            return Message.from_role_and_content(Role.ASSISTANT, item.text).with_channel("analysis")
        case ItemKind.PREAMBLE:
            return Message.from_role_and_content(Role.ASSISTANT, item.text).with_channel("commentary")
        case ItemKind.ANSWER:
            return Message.from_role_and_content(Role.ASSISTANT, item.text).with_channel("final")
        case ItemKind.CALL:
            return (
                Message.from_role_and_content(Role.ASSISTANT, item.text)
                .with_channel("commentary")
                .with_recipient(f"functions.{item.name}")
                .with_content_type("json")
            )
        case ItemKind.RESULT:
            author = Author.new(Role.TOOL, f"functions.{item.name or 'unknown'}")
            return (
                Message.from_author_and_content(author, item.text)
                .with_channel("commentary")
                .with_recipient("assistant")
            )
        case _:
            assert_never(item.kind)


def _dumped(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return " " * (_RENDERED_AT_MOST + 1)
