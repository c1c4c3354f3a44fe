"""The differences between a prompt and what its request asks for.

What servers do on purpose is no difference: a system message with date, identity and channels; instructions
in a developer or a system message; an empty developer message; reasoning of finished turns left out or kept;
either order of a call's header; white space; a tool's result as a JSON string.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final

from inspector.analysis.alignment.edits import common_prefix
from inspector.analysis.prompt.asked import Asked, Tool
from inspector.analysis.prompt.difference import PromptCode, PromptDifference, about
from inspector.analysis.prompt.history import history
from inspector.analysis.prompt.messages import MessageState, PromptMessage
from inspector.analysis.prompt.preamble import Function, Preamble, bare, preamble
from inspector.analysis.prompt.rendering import is_renderable, rendered_tools
from inspector.capture.formats import clip
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import encode

_SHOWN: Final = 300
_DAY: Final = timedelta(days=1)
"""The server's clock may be in any time zone."""


def chat_differences(
    asked: Asked, messages: Sequence[PromptMessage], ids: Sequence[int], *, today: date | None, opened: bool
) -> Iterator[PromptDifference]:
    """Everything that differs; `opened` is False where the request wants no header for the response."""
    told = preamble(messages)
    cut = messages[0].state is MessageState.CUT
    if cut:
        first = messages[0]
        yield PromptDifference(
            code=PromptCode.TRUNCATED,
            message=0,
            token_start=0,
            token_end=first.end,
            found=clip(first.text, _SHOWN),
        )
    else:
        yield from _system(asked, told, messages, today)
        yield from _instructions(asked, told, messages)
        yield from _tools(asked, told, messages)
    found, explained = history(asked.items, messages, ids)
    if cut:  # what the cut took is one difference, not one for each message
        lost = {PromptCode.MESSAGE_MISSING, PromptCode.REASONING_LOST}
        begun = min((one.message for one in found if one.code in lost and one.message is not None), default=0)
        found = [one for one in found if one.code not in lost or (one.message or 0) > max(begun, 1)]
    yield from found
    for message in messages:
        if message.state is MessageState.REJECTED and message.index not in explained:
            yield about(PromptCode.TOKENS_REJECTED, message, found=clip(message.words, _SHOWN))
    last = messages[-1]
    if opened and not (last.state is MessageState.OPEN and last.role == "assistant"):
        yield PromptDifference(
            code=PromptCode.OPENING_MISSING, message=last.index, token_start=len(ids), token_end=len(ids)
        )


def raw_differences(request: Mapping[str, Any], ids: Sequence[int]) -> Iterator[PromptDifference]:
    """The first token at which the server's prompt is not the one that a completions request spells out."""
    asked = request.get("prompt")
    if isinstance(asked, str):
        wanted = encode(asked)
        same = wanted == ids or text_of(wanted) == text_of(ids)
    elif isinstance(asked, list) and asked and all(type(item) is int for item in asked):
        wanted, same = asked, asked == ids
    else:
        return
    if same:
        return
    at = common_prefix(wanted, ids)
    yield PromptDifference(
        code=PromptCode.PROMPT_CHANGED,
        token_start=at,
        token_end=len(ids),
        expected=clip(text_of(wanted[at : at + _SHOWN]), _SHOWN),
        found=clip(text_of(ids[at : at + _SHOWN]), _SHOWN),
    )


def _system(
    asked: Asked, told: Preamble, messages: Sequence[PromptMessage], today: date | None
) -> Iterator[PromptDifference]:
    system = told.system
    if system is None:
        first = messages[0]
        yield PromptDifference(
            code=PromptCode.SYSTEM_MISSING, message=0, token_start=first.start, token_end=first.start
        )
        return
    if asked.effort is not None and told.effort != asked.effort:
        yield about(PromptCode.EFFORT_DIFFERS, system, expected=asked.effort, found=told.effort)
    if told.date is None:
        yield about(PromptCode.DATE_MISSING, system)
    elif today is not None:
        try:
            apart = abs(date.fromisoformat(told.date) - today)
        except ValueError:
            apart = 2 * _DAY
        if apart > _DAY:
            yield about(PromptCode.DATE_DIFFERS, system, expected=today.isoformat(), found=told.date)


def _instructions(
    asked: Asked, told: Preamble, messages: Sequence[PromptMessage]
) -> Iterator[PromptDifference]:
    places = {message.index: bare(message.text) for message in messages if _instructs(message)}
    taken: set[int] = set()
    lost: list[tuple[int | None, str]] = []
    for number, text in asked.instructions:
        wanted = bare(text)
        holders = [index for index, held in places.items() if wanted in held]
        taken.update(holders)
        if not holders:
            lost.append((number, text))
    others = [(index, text) for index, text in told.instructions if index not in taken]
    for number, text in lost:
        if others:
            index, found = others.pop(0)
            start = max(common_prefix(text, found) - 40, 0)
            yield about(
                PromptCode.INSTRUCTIONS_CHANGED,
                messages[index],
                request=number,
                expected=clip(text[start:], _SHOWN),
                found=clip(found[start:], _SHOWN),
            )
        else:
            yield PromptDifference(
                code=PromptCode.INSTRUCTIONS_MISSING,
                request_message=number,
                request_messages=None if number is None else 1,
                expected=clip(text, _SHOWN),
            )
    for index, text in others:
        yield about(PromptCode.INSTRUCTIONS_ADDED, messages[index], found=clip(text, _SHOWN))


def _tools(asked: Asked, told: Preamble, messages: Sequence[PromptMessage]) -> Iterator[PromptDifference]:
    by_name = {one.name: one for one in told.functions}
    names = {tool.name for tool in asked.tools}
    developer = next((message for message in messages if message.role == "developer"), None)
    alike = (
        bool(asked.tools)
        and is_renderable(asked)
        and bare(rendered_tools(asked.tools))
        in "".join(bare(message.text) for message in messages if _instructs(message))
    )
    for tool in () if alike else asked.tools:
        found = by_name.get(tool.name)
        if found is None:
            if not asked.tools_optional:
                yield PromptDifference(
                    code=PromptCode.TOOL_MISSING,
                    message=None if developer is None else developer.index,
                    name=clip(tool.name, _SHOWN),
                )
        elif (what := _changed(tool, found)) is not None:
            yield about(PromptCode.TOOL_CHANGED, messages[found.message], name=tool.name, expected=what)
    for one in told.functions:
        if one.name not in names:
            yield about(PromptCode.TOOL_ADDED, messages[one.message], name=one.name)


def _changed(tool: Tool, found: Function) -> str | None:
    """What of a tool is not in the prompt; releases of the library write types and comments differently."""
    if bare(tool.description) not in found.description:
        return "description"
    properties = (tool.parameters or {}).get("properties")
    for name in properties if isinstance(properties, Mapping) else ():
        key = bare(str(name))
        if f"{key}:" not in found.parameters and f"{key}?:" not in found.parameters:
            return f"parameter {clip(str(name), 80)}"
    return None


def _instructs(message: PromptMessage) -> bool:
    return message.role in {"system", "developer"}
