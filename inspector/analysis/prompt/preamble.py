"""What the system and developer messages of a prompt say: date, effort, instructions, tools."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from inspector.analysis.prompt.messages import PromptMessage

_DATE: Final = re.compile(r"^Current date: (\d{4}-\d{2}-\d{2})\s*$", re.MULTILINE)
_EFFORT: Final = re.compile(r"^Reasoning: (\w{1,20})\s*$", re.MULTILINE)
_TOOLS: Final = re.compile(r"(?:^|\n)# Tools\s")
_NAMESPACE: Final = "namespace functions {"
_NAMESPACE_END: Final = "} // namespace functions"
_TYPE: Final = re.compile(r"^type (\S{1,256}) = ", re.MULTILINE)
_COMMENT: Final = re.compile(r"^\s*//+", re.MULTILINE)
_FORMATS: Final = re.compile(r"(?:^|\n)# Response Formats\s")
_HEADING: Final = re.compile(r"^\s*(?:# Instructions|Instructions:)\s*")
_END_OF_FUNCTION: Final = "=> any;"


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function as the prompt describes it."""

    name: str
    message: int
    """The prompt's message."""
    description: str
    """The comment before it, without white space."""
    parameters: str
    """Its parameters, without white space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preamble:
    """The system and developer messages of a prompt, taken apart."""

    system: PromptMessage | None
    """The first message, where it is a system message."""
    date: str | None
    effort: str | None
    instructions: tuple[tuple[int, str], ...]
    """Texts by the prompt's message, without their heading and the tools; empty ones are left out."""
    functions: tuple[Function, ...]


def preamble(messages: Sequence[PromptMessage]) -> Preamble:
    """Read all system and developer messages, wherever they stand."""
    first = messages[0] if messages and messages[0].role == "system" else None
    text = first.text if first is not None else ""
    instructions: list[tuple[int, str]] = []
    functions: list[Function] = []
    for message in messages:
        if message.role not in {"system", "developer"}:
            continue
        functions.extend(_functions(message))
        if message is not first:
            instruction = _without_tools(message.text)
            if instruction:
                instructions.append((message.index, instruction))
    return Preamble(
        system=first,
        date=_group(_DATE, text),
        effort=_group(_EFFORT, text),
        instructions=tuple(instructions),
        functions=tuple(functions),
    )


def bare(text: str) -> str:
    """A text without white space: servers differ in it, and it changes no instruction.

    With `?` for half surrogates, which no token can hold.
    """
    sound = text if text.isascii() else text.encode("utf-8", "replace").decode()
    return "".join(sound.split())


def _group(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match[1].lower() if match else None


def _without_tools(text: str) -> str:
    at = text.rfind(_NAMESPACE)
    cut = len(text)
    if at >= 0:
        headings = [heading.start() for heading in _TOOLS.finditer(text, 0, at)]
        cut = headings[-1] if headings else at
    if (formats := _FORMATS.search(text, 0, cut)) is not None:
        cut = formats.start()
    return _HEADING.sub("", text[:cut]).strip()


def _functions(message: PromptMessage) -> list[Function]:
    text = message.text
    start = text.rfind(_NAMESPACE)
    if start < 0:
        return []
    start += len(_NAMESPACE)
    end = text.find(_NAMESPACE_END, start)
    part = text[start : end if end >= 0 else len(text)]
    functions, at = [], 0
    heads = list(_TYPE.finditer(part))
    for place, head in enumerate(heads):
        limit = heads[place + 1].start() if place + 1 < len(heads) else len(part)
        stop = part.rfind(_END_OF_FUNCTION, head.end(), limit)
        stop = limit if stop < 0 else stop + len(_END_OF_FUNCTION)
        functions.append(
            Function(
                name=head[1],
                message=message.index,
                description=bare(_COMMENT.sub("", part[at : head.start()])),
                parameters=bare(part[head.end() : stop]),
            )
        )
        at = stop
    return functions
