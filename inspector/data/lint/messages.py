"""Chat messages: OpenAI's with tool calls and reasoning, ShareGPT's, and messages of the Harmony library."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from inspector.capture.formats import clip
from inspector.data.lint.answers import think_tag
from inspector.data.lint.finding import Flaw
from inspector.data.lint.rules import Rule
from inspector.data.lint.structure import SHOWN, Part, check_structure
from inspector.protocol.harmony.markup import first_spelled, stripped_transcript

_MESSAGES_AT_MOST: Final = 20_000
_REASONING: Final = ("thinking", "reasoning", "reasoning_content")
_SHARE_GPT: Final = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "system": "system",
    "function_call": "assistant",
    "tool": "tool",
    "observation": "tool",
    "function_response": "tool",
}
_PREFIX: Final = "functions."
_QUOTING: Final = frozenset({"system", "developer", "user", "tool", "function"})
"""Roles whose texts may quote a transcript; the model's own may not be one."""
_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})

_CONTENTS: Final = frozenset(
    {"content", "value", "text", "parts", "tool_calls", "function_call", *_REASONING}
)
"""Keys for the author of a message; each message has one of them."""


@dataclass(slots=True)
class Chat:
    """What one list of messages came to."""

    flaws: list[Flaw] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    """Reasoning before tool calls of a turn that has no final answer yet."""


def is_messages(value: object) -> bool:
    """True for a list of objects with roles."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(message, Mapping) and ("role" in message or "from" in message) for message in value[:8]
        )
    )


def seems_messages(value: object) -> bool:
    """True for messages of which most have a content: edges of a graph have `from` too, and people roles."""
    if not isinstance(value, list) or not is_messages(value):
        return False
    filled = [_role(message) is not None and not _CONTENTS.isdisjoint(message) for message in value[:8]]
    return sum(filled) * 2 > len(filled)


def is_message(value: object) -> bool:
    """True for one message of a model, as a response has it."""
    return isinstance(value, Mapping) and value.get("role") == "assistant" and not _CONTENTS.isdisjoint(value)


def check_messages(value: Sequence[object]) -> Chat:
    """Check one conversation; places are characters of a message's text."""
    if len(value) > _MESSAGES_AT_MOST:
        return Chat(flaws=[Flaw(rule=Rule.TOO_LONG)])
    messages: list[tuple[int, Mapping[str, Any]]] = []
    chat = Chat()
    for index, message in enumerate(value):
        if isinstance(message, Mapping):
            messages.append((index, message))
        else:
            chat.flaws.append(Flaw(rule=Rule.WRONG_FORM, message=index, note="It is not an object."))
    if any(isinstance(message.get("channel"), str) for _, message in messages):
        chat.flaws += _harmony(messages)
    else:
        chat.flaws += _chat(messages)
        chat.pending = _pending(messages)
    chat.flaws.sort(key=lambda flaw: flaw.message or 0)
    return chat


def _harmony(messages: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[Flaw]:
    """Messages that have a channel each, as `openai_harmony` stores them."""
    parts: list[Part] = []
    for index, message in messages:
        role, text = _role(message), _text(message.get("content"))
        yield from _role_flaws(role, index)
        yield from _text_flaws(text, index, role)
        parts.append(
            Part(
                message=index,
                at=None,
                role=role,
                channel=_string(message.get("channel")),
                recipient=_string(message.get("recipient")),
                text=text,
            )
        )
    if parts:
        yield from check_structure(parts, rendered=False)


def _chat(messages: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[Flaw]:
    call_ids: set[str] = set()
    called = False
    waiting: dict[str, int] = {}
    """Calls without a result so far, with their messages."""
    for index, message in messages:
        role, text = _role(message), _text(_content(message))
        yield from _role_flaws(role, index)
        yield from _text_flaws(text, index, role)
        if role in {"assistant", "user"}:
            for call_message in sorted(set(waiting.values())):
                yield Flaw(rule=Rule.CALL_WITHOUT_RESULT, message=call_message)
            waiting = {}
        if role == "assistant":
            calls = _calls(message)
            waiting = {call_id: index for call in calls if (call_id := _string(call.get("id")))}
            called = called or bool(calls or message.get("function_call"))
            called = called or message.get("from") == "function_call"
            call_ids.update(call_id for call in calls if (call_id := _string(call.get("id"))))
            yield from _assistant(index, message, text, calls)
        elif role in {"tool", "function"}:
            if waiting.pop(_string(message.get("tool_call_id")) or "", None) is None and waiting:
                waiting.pop(next(iter(waiting)))  # results without an ID are in the order of the calls
            yield from _result(index, message, call_ids, called=called)


def _assistant(
    index: int, message: Mapping[str, Any], text: str, calls: Sequence[Mapping[str, Any]]
) -> Iterator[Flaw]:
    reasoning = reasoning_of(message)
    yield from _text_flaws(reasoning, index)
    for call in calls:
        yield from _call(index, call)
    if len(calls) > 1:
        yield Flaw(rule=Rule.SEVERAL_CALLS, message=index, note=f"It has {len(calls):,}.")
    if calls and text and _string(message.get("thinking")):
        yield Flaw(rule=Rule.CONTENT_AND_THINKING, message=index, excerpt=clip(text, SHOWN))
    if not calls and not text.strip() and not message.get("function_call"):
        rule = Rule.MISSING_FINAL if reasoning.strip() else Rule.EMPTY_FINAL
        yield Flaw(rule=rule, message=index, excerpt=clip(reasoning, SHOWN))


def _call(index: int, call: Mapping[str, Any]) -> Iterator[Flaw]:
    function = call.get("function")
    name = function if isinstance(function, str) else None  # as Inspect stores it
    function = function if isinstance(function, Mapping) else call
    name, arguments = name or function.get("name"), function.get("arguments")
    if not isinstance(name, str) or not name:
        yield Flaw(rule=Rule.CALL_WITHOUT_NAME, message=index)
    elif (at := first_spelled(name)) is not None:
        note = "It is in the name of a tool."
        excerpt = clip(name, SHOWN)
        yield Flaw(rule=Rule.SPECIAL_TOKEN_IN_MESSAGE, at=at, message=index, excerpt=excerpt, note=note)
    elif name.startswith(_PREFIX):
        yield Flaw(rule=Rule.PREFIX_IN_NAME, message=index, excerpt=clip(name, SHOWN))
    if isinstance(arguments, str):
        yield from _text_flaws(arguments, index)
        try:
            json.loads(arguments)
        except (ValueError, RecursionError):
            yield Flaw(rule=Rule.ARGUMENTS_NOT_JSON, message=index, excerpt=clip(arguments, SHOWN))


def _result(index: int, message: Mapping[str, Any], call_ids: set[str], *, called: bool) -> Iterator[Flaw]:
    call = _string(message.get("tool_call_id"))
    if not called:
        yield Flaw(rule=Rule.RESULT_WITHOUT_CALL, message=index, note="No message before it has a tool call.")
    elif call and call_ids and call not in call_ids:
        note = f"Its tool_call_id is “{clip(call, SHOWN)}”."
        yield Flaw(rule=Rule.RESULT_WITHOUT_CALL, message=index, note=note)


def _role_flaws(role: str | None, index: int) -> Iterator[Flaw]:
    if role not in _ROLES:
        note = "It has none." if role is None else f"It is “{clip(role, SHOWN)}”."
        yield Flaw(rule=Rule.UNKNOWN_ROLE, message=index, note=note)


def _text_flaws(text: str, index: int, role: str | None = "assistant") -> Iterator[Flaw]:
    if (at := first_spelled(text)) is not None:
        yield Flaw(rule=Rule.SPECIAL_TOKEN_IN_MESSAGE, at=at, message=index, excerpt=clip(text[at:], SHOWN))
    elif role not in _QUOTING and (at := stripped_transcript(text)) is not None:
        yield Flaw(rule=Rule.STRIPPED_TRANSCRIPT, at=at, message=index, excerpt=clip(text[at:], SHOWN))
    elif role not in _QUOTING and (at := think_tag(text)) is not None:
        yield Flaw(rule=Rule.THINK_TAG, at=at, message=index, excerpt=clip(text[at:], SHOWN))


def _pending(messages: Sequence[tuple[int, Mapping[str, Any]]]) -> list[str]:
    """Reasoning of messages with tool calls after the last message of the user, where no answer follows."""
    last = max((place for place, (_, message) in enumerate(messages) if _role(message) == "user"), default=-1)
    turn = [message for _, message in messages[last + 1 :]]
    if not turn or any(_role(message) == "assistant" and not _calls(message) for message in turn):
        return []
    reasonings = (reasoning_of(message).strip() for message in turn if _calls(message))
    return [reasoning for reasoning in reasonings if reasoning]


def reasoning_of(message: Mapping[str, Any]) -> str:
    """The reasoning of a message, in any of the fields that trainers use."""
    return next((text for key in _REASONING if (text := _string(message.get(key)))), "")


def _calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []


def _role(message: Mapping[str, Any]) -> str | None:
    role = _string(message.get("role"))
    if role is None and (author := _string(message.get("from"))) is not None:
        role = _SHARE_GPT.get(author, author)
    return role


def _content(message: Mapping[str, Any]) -> object:
    return message.get("content") if "content" in message else message.get("value")


def _text(content: object) -> str:
    """The text of a content; parts that are not text contribute nothing."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, list):
        return ""
    parts = []
    for part in content:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, Mapping):
            parts.append(_part_text(part))
    return "".join(parts)


def _part_text(part: Mapping[str, Any]) -> str:
    if isinstance(text := part.get("text"), str):
        return text
    return "[1 part]" if part.get("type") not in (None, "text") else ""


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None
