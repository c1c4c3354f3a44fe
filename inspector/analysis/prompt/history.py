"""The history of a request against the messages of a prompt, aligned by role and text."""

import json
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from inspector.analysis.alignment.edits import common_prefix, lcs
from inspector.analysis.prompt.difference import PromptCode, PromptDifference, about
from inspector.analysis.prompt.messages import MessageState, PromptMessage
from inspector.analysis.prompt.preamble import bare
from inspector.analysis.prompt.requested import HistoryItem, ItemKind
from inspector.capture.formats import clip
from inspector.protocol.harmony.vocab import MARKERS, Marker, encode

_TEXT: Final = "text"
_CALL: Final = "call"
_RESULT: Final = "result"
_USER: Final = "user"
_CLASS: Final = {
    ItemKind.USER: _USER,
    ItemKind.REASONING: _TEXT,
    ItemKind.PREAMBLE: _TEXT,
    ItemKind.ANSWER: _TEXT,
    ItemKind.CALL: _CALL,
    ItemKind.RESULT: _RESULT,
}
_CHANNELS: Final = {
    ItemKind.REASONING: ("analysis",),
    # gpt-oss's own template takes text beside a call as reasoning.
    ItemKind.PREAMBLE: ("commentary", "analysis"),
    ItemKind.ANSWER: ("final",),
    ItemKind.CALL: ("commentary",),
}
"""Channels that a message of the history may have, the usual one first."""
_SHOWN: Final = 300
"""Characters of a text that a difference quotes."""
_BEFORE: Final = 40
_SOUGHT_AT_MOST: Final = 2_000
"""Places at which a text with special tokens is looked for."""
_MARKS: Final = tuple(marker.text for marker in Marker)


@dataclass(slots=True)
class _Gap:
    """What is between two pairs that match."""

    items: list[HistoryItem]
    messages: list[PromptMessage]
    at: PromptMessage | None
    """The prompt's message that follows; None at the end."""


def history(
    items: Sequence[HistoryItem], messages: Sequence[PromptMessage], ids: Sequence[int]
) -> tuple[list[PromptDifference], set[int]]:
    """Differences of the history, and the prompt's messages whose header one of them is about."""
    comparable = [message for message in messages if _class(message) is not None]
    pairs, gaps = _aligned(items, comparable, messages)
    moved = _take_moved(gaps)
    differences: list[PromptDifference] = []
    headers: dict[Hashable, PromptDifference] = {}
    misnamed: set[int] = set()
    for item, message in [*pairs, *moved]:
        for difference in _header(item, message):
            key = difference.name, difference.expected, difference.found
            earlier = headers.get(key)
            headers[key] = difference if earlier is None else replace(earlier, times=earlier.times + 1)
            misnamed.add(message.index)
        if item.kind in {ItemKind.PREAMBLE, ItemKind.ANSWER} and spells_harmony(item.text):
            differences.append(
                about(
                    PromptCode.HARMONY_AS_TEXT, message, request=item.message, found=clip(item.text, _SHOWN)
                )
            )
    differences.extend(headers.values())
    order = {message.index: item.message for item, message in pairs}
    for item, message in moved:
        if order.get(message.index - 1) != item.message != order.get(message.index + 1):
            differences.append(about(PromptCode.MESSAGE_MOVED, message, request=item.message))
    spelled = _Spelled(ids)
    for gap in gaps:
        differences.extend(_gap(gap, spelled))
    return differences, misnamed


def spells_harmony(text: str) -> bool:
    """True for a text with special tokens spelled in it."""
    return "<|" in text and any(mark in text for mark in _MARKS)


def _class(message: PromptMessage) -> str | None:
    """Which items a message can be; None for system and developer messages and for other values."""
    if message.state is MessageState.CUT or message.body == message.end:
        return None
    match message.role:
        case "user":
            return _USER
        case "assistant":
            return _TEXT if message.recipient in {None, "all"} else _CALL
        case "tool":
            return _RESULT
        case _:
            return None


def _aligned(
    items: Sequence[HistoryItem], comparable: Sequence[PromptMessage], messages: Sequence[PromptMessage]
) -> tuple[list[tuple[HistoryItem, PromptMessage]], list[_Gap]]:
    numbers: dict[Hashable, int] = {}
    item_numbers = [numbers.setdefault(_item_key(item), len(numbers)) for item in items]
    message_numbers = [numbers.setdefault(_message_key(message), len(numbers)) for message in comparable]
    if item_numbers == message_numbers:
        return list(zip(items, comparable, strict=True)), []
    pairs: list[tuple[HistoryItem, PromptMessage]] = []
    gaps: list[_Gap] = []
    open_gap: _Gap | None = None
    for code in lcs(item_numbers, message_numbers):
        gap_items, right = items[code.src_start : code.src_end], comparable[code.dest_start : code.dest_end]
        if code.tag == "equal":
            pairs += zip(gap_items, right, strict=True)
            open_gap = None
            continue
        if open_gap is None:
            gaps.append(open_gap := _Gap([], [], None))
        open_gap.items.extend(gap_items)  # a replaced stretch comes as two steps
        open_gap.messages.extend(right)
        open_gap.at = comparable[code.dest_end] if code.dest_end < len(comparable) else _tail(messages)
    return pairs, gaps


def _tail(messages: Sequence[PromptMessage]) -> PromptMessage | None:
    """The open header at the end of the prompt."""
    return messages[-1] if messages and messages[-1].state is MessageState.OPEN else None


def _item_key(item: HistoryItem) -> Hashable:
    kind = _CLASS[item.kind]
    return (kind, item.name, _arguments(item.text)) if kind == _CALL else (kind, _norm(kind, item.text))


def _message_key(message: PromptMessage) -> Hashable:
    kind = _class(message)
    if kind == _CALL:
        name = (message.recipient or "").removeprefix("functions.")
        return kind, name, _arguments(message.text)
    return kind, _norm(kind, message.text)


def _norm(kind: str | None, text: str) -> str:
    """A text as it is compared; a tool's result may be a JSON string (gpt-oss's own template)."""
    if kind == _RESULT and text[:1] == '"':
        try:
            decoded = json.loads(text)
        except (ValueError, RecursionError):
            decoded = None
        text = decoded if isinstance(decoded, str) else text
    return bare(text)


def _arguments(text: str) -> str:
    """The arguments of a call as they are compared: JSON, however it is written."""
    try:
        return json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return bare(text)


def _take_moved(gaps: Sequence[_Gap]) -> list[tuple[HistoryItem, PromptMessage]]:
    """Pairs of equal text whose places differ, taken out of the gaps."""
    waiting: dict[Hashable, list[tuple[_Gap, PromptMessage]]] = {}
    for gap in gaps:
        for message in gap.messages:
            waiting.setdefault(_message_key(message), []).append((gap, message))
    moved: list[tuple[HistoryItem, PromptMessage]] = []
    for gap in gaps:
        for item in list(gap.items):
            if (candidates := waiting.get(_item_key(item))) and item.text.strip():
                gap_of_message, message = candidates.pop(0)
                gap.items.remove(item)
                gap_of_message.messages.remove(message)
                moved.append((item, message))
    return moved


def _gap(gap: _Gap, spelled: "_Spelled") -> Iterator[PromptDifference]:
    items, messages = list(gap.items), list(gap.messages)
    for item in list(items):
        if (span := spelled.find(item.text)) is not None:
            items.remove(item)
            messages = [message for message in messages if message.end <= span[0] or message.start >= span[1]]
            yield PromptDifference(
                code=PromptCode.HARMONY_AS_TOKENS,
                token_start=span[0],
                token_end=span[1],
                request_message=item.message,
                request_messages=1,
                found=clip(item.text, _SHOWN),
            )
    items = [item for item in items if item.needed]
    for item in list(items):
        if (same_item := next(filter(partial(_alike, item), messages), None)) is not None:
            items.remove(item)
            messages.remove(same_item)
            expected, actual = _excerpts(item.text, same_item.text)
            yield about(
                PromptCode.MESSAGE_CHANGED,
                same_item,
                request=item.message,
                name=item.name,
                expected=expected,
                found=actual,
            )
    for item in items:
        if item.kind is ItemKind.REASONING:
            yield _missing(PromptCode.REASONING_LOST, gap, item, item)
    yield from _runs([item for item in items if item.kind is not ItemKind.REASONING], gap)
    for message in messages:
        yield about(
            PromptCode.MESSAGE_ADDED,
            message,
            name=message.role if message.channel is None else f"{message.role}, {message.channel}",
            found=clip(message.text, _SHOWN),
        )


def _alike(item: HistoryItem, message: PromptMessage) -> bool:
    """True if a message takes the place of an item but has a different text."""
    if _class(message) != _CLASS[item.kind]:
        return False
    return _CLASS[item.kind] != _TEXT or (message.channel == "analysis") == (item.kind is ItemKind.REASONING)


def _runs(items: Sequence[HistoryItem], gap: _Gap) -> Iterator[PromptDifference]:
    """One difference for neighbours that are missing together."""
    first = 0
    for place in range(1, len(items) + 1):
        if place == len(items) or items[place].message > items[place - 1].message + 1:
            yield _missing(PromptCode.MESSAGE_MISSING, gap, items[first], items[place - 1])
            first = place


def _missing(code: PromptCode, gap: _Gap, first: HistoryItem, last: HistoryItem) -> PromptDifference:
    at = gap.at
    return PromptDifference(
        code=code,
        message=None if at is None else at.index,
        token_start=None if at is None else at.start,
        token_end=None if at is None else at.start,
        request_message=first.message,
        request_messages=last.message - first.message + 1,
        name=str(first.kind) if first is last else None,
        expected=clip(first.text, _SHOWN),
    )


def _header(item: HistoryItem, message: PromptMessage) -> Iterator[PromptDifference]:
    """Channel, recipient and author of a message whose text is right."""
    differs: Callable[..., PromptDifference] = partial(
        about, PromptCode.HEADER_DIFFERS, message, request=item.message
    )
    channels = item.channels or _CHANNELS.get(item.kind, ())
    if channels and message.channel not in channels:
        yield differs(name="channel", expected=channels[0], found=message.channel)
    if item.kind is ItemKind.CALL and message.recipient != f"functions.{item.name}":
        yield differs(name="recipient", expected=f"functions.{item.name}", found=message.recipient)
    if item.kind is ItemKind.RESULT and item.name is not None:
        expected = f"functions.{item.name.removeprefix('functions.')}"
        if message.name not in {expected, item.name}:
            yield differs(name="author", expected=expected, found=message.name)
        elif message.state is MessageState.REJECTED:  # the parser knows a tool by its recipient
            yield differs(name="recipient", expected="assistant", found=message.recipient)


class _Spelled:
    """Finds texts whose special tokens became real ones in the prompt; bounded in number and time."""

    def __init__(self, ids: Sequence[int]) -> None:
        self._ids = ids
        self._places: dict[int, list[int]] | None = None
        self._left = _SOUGHT_AT_MOST

    def find(self, text: str) -> tuple[int, int] | None:
        """The span of a text; None where it is not there."""
        if self._left <= 0 or not spells_harmony(text):
            return None
        spelled = encode(text)
        anchor = next((place for place, token_id in enumerate(spelled) if token_id in MARKERS), None)
        if anchor is None:
            return None
        for at in self._marks().get(spelled[anchor], ()):
            start, self._left = at - anchor, self._left - 1
            if self._left <= 0:
                break
            if start >= 0 and self._ids[start : start + len(spelled)] == spelled:
                return start, start + len(spelled)
        return None

    def _marks(self) -> dict[int, list[int]]:
        if self._places is None:
            self._places = {}
            for at, token_id in enumerate(self._ids):
                if token_id in MARKERS:
                    self._places.setdefault(token_id, []).append(at)
        return self._places


def _excerpts(expected: str, actual: str) -> tuple[str, str]:
    """Both texts from shortly before their first difference on."""
    start = max(common_prefix(expected, actual) - _BEFORE, 0)
    lead = "…" if start else ""
    return tuple(lead + clip(text[start:], _SHOWN) for text in (expected, actual))  # type: ignore[return-value]
