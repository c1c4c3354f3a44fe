"""The differences between a prompt and what its request asks for.

What servers do on purpose is not reported: a system message with date, identity and channels; instructions
in a developer or a system message; an empty developer message; reasoning of finished turns left out or kept;
either order of a call's header; white space; a tool's result as a JSON string.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final

from inspector.analysis.alignment.edits import common_prefix
from inspector.analysis.prompt.difference import PromptCode, PromptDifference, about
from inspector.analysis.prompt.history import history
from inspector.analysis.prompt.messages import MessageState, PromptMessage
from inspector.analysis.prompt.preamble import Function, Preamble, bare, preamble
from inspector.analysis.prompt.rendering import is_renderable, rendered_tools
from inspector.analysis.prompt.requested import Requested, Tool
from inspector.capture.formats import clip
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import encode

_SHOWN: Final = 300
_DAY: Final = timedelta(days=1)
"""The server's clock may be in any time zone."""


def chat_differences(
    requested: Requested,
    messages: Sequence[PromptMessage],
    ids: Sequence[int],
    *,
    today: date | None,
    opened: bool,
) -> Iterator[PromptDifference]:
    """Everything that differs; `opened` is False where the request wants no header for the response."""
    opening = preamble(messages)
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
        yield from _system(requested, opening, messages, today)
        yield from _instructions(requested, opening, messages)
        yield from _tools(requested, opening, messages)
    differences, explained = history(requested.items, messages, ids)
    if cut:  # what the cut took is one difference, not one for each message
        lost = {PromptCode.MESSAGE_MISSING, PromptCode.REASONING_LOST}
        begun = min(
            (
                difference.message
                for difference in differences
                if difference.code in lost and difference.message is not None
            ),
            default=0,
        )
        differences = [
            difference
            for difference in differences
            if difference.code not in lost or (difference.message or 0) > max(begun, 1)
        ]
    yield from differences
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
    prompt = request.get("prompt")
    if isinstance(prompt, str):
        expected = encode(prompt)
        same = expected == ids or text_of(expected) == text_of(ids)
    elif isinstance(prompt, list) and prompt and all(type(item) is int for item in prompt):
        expected, same = prompt, prompt == ids
    else:
        return
    if same:
        return
    at = common_prefix(expected, ids)
    yield PromptDifference(
        code=PromptCode.PROMPT_CHANGED,
        token_start=at,
        token_end=len(ids),
        expected=clip(text_of(expected[at : at + _SHOWN]), _SHOWN),
        found=clip(text_of(ids[at : at + _SHOWN]), _SHOWN),
    )


def _system(
    requested: Requested, opening: Preamble, messages: Sequence[PromptMessage], today: date | None
) -> Iterator[PromptDifference]:
    system = opening.system
    if system is None:
        first = messages[0]
        yield PromptDifference(
            code=PromptCode.SYSTEM_MISSING, message=0, token_start=first.start, token_end=first.start
        )
        return
    if requested.effort is not None and opening.effort != requested.effort:
        yield about(PromptCode.EFFORT_DIFFERS, system, expected=requested.effort, found=opening.effort)
    if opening.date is None:
        yield about(PromptCode.DATE_MISSING, system)
    elif today is not None:
        try:
            days_apart = abs(date.fromisoformat(opening.date) - today)
        except ValueError:
            days_apart = 2 * _DAY
        if days_apart > _DAY:
            yield about(PromptCode.DATE_DIFFERS, system, expected=today.isoformat(), found=opening.date)


def _instructions(
    requested: Requested, opening: Preamble, messages: Sequence[PromptMessage]
) -> Iterator[PromptDifference]:
    places = {message.index: bare(message.text) for message in messages if _instructs(message)}
    in_request: set[int] = set()
    lost: list[tuple[int | None, str]] = []
    for number, text in requested.instructions:
        expected = bare(text)
        holders = [index for index, instructions in places.items() if expected in instructions]
        in_request.update(holders)
        if not holders:
            lost.append((number, text))
    unrequested = [(index, text) for index, text in opening.instructions if index not in in_request]
    for number, text in lost:
        if unrequested:
            index, changed = unrequested.pop(0)
            start = max(common_prefix(text, changed) - 40, 0)
            yield about(
                PromptCode.INSTRUCTIONS_CHANGED,
                messages[index],
                request=number,
                expected=clip(text[start:], _SHOWN),
                found=clip(changed[start:], _SHOWN),
            )
        else:
            yield PromptDifference(
                code=PromptCode.INSTRUCTIONS_MISSING,
                request_message=number,
                request_messages=None if number is None else 1,
                expected=clip(text, _SHOWN),
            )
    for index, text in unrequested:
        yield about(PromptCode.INSTRUCTIONS_ADDED, messages[index], found=clip(text, _SHOWN))


def _tools(
    requested: Requested, opening: Preamble, messages: Sequence[PromptMessage]
) -> Iterator[PromptDifference]:
    by_name = {function.name: function for function in opening.functions}
    names = {tool.name for tool in requested.tools}
    developer = next((message for message in messages if message.role == "developer"), None)
    alike = (
        bool(requested.tools)
        and is_renderable(requested)
        and bare(rendered_tools(requested.tools))
        in "".join(bare(message.text) for message in messages if _instructs(message))
    )
    for tool in () if alike else requested.tools:
        function = by_name.get(tool.name)
        if function is None:
            if not requested.tools_optional:
                yield PromptDifference(
                    code=PromptCode.TOOL_MISSING,
                    message=None if developer is None else developer.index,
                    name=clip(tool.name, _SHOWN),
                )
        elif (change := _changed(tool, function)) is not None:
            yield about(PromptCode.TOOL_CHANGED, messages[function.message], name=tool.name, expected=change)
    for function in opening.functions:
        if function.name not in names:
            yield about(PromptCode.TOOL_ADDED, messages[function.message], name=function.name)


def _changed(tool: Tool, function: Function) -> str | None:
    """What of a tool is not in the prompt; releases of the library write types and comments differently."""
    if bare(tool.description) not in function.description:
        return "description"
    properties = (tool.parameters or {}).get("properties")
    for name in properties if isinstance(properties, Mapping) else ():
        key = bare(str(name))
        if f"{key}:" not in function.parameters and f"{key}?:" not in function.parameters:
            return f"parameter {clip(str(name), 80)}"
    return None


def _instructs(message: PromptMessage) -> bool:
    return message.role in {"system", "developer"}
