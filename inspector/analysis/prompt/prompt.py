"""The prompt of a response: its messages, and where it differs from what the request asks for."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

from inspector.analysis.prompt.checks import chat_differences, raw_differences
from inspector.analysis.prompt.difference import PromptDifference, PromptSeverity
from inspector.analysis.prompt.messages import PromptMessage, parse
from inspector.analysis.prompt.rendering import is_renderable, render
from inspector.analysis.prompt.requested import (
    HistoryItem,
    ItemKind,
    Requested,
    begin,
    dumped,
    entries,
    requested_by_chat,
    text_in,
)
from inspector.analysis.prompt.source import PromptSource, prompt_ids
from inspector.analysis.prompt.wording import prompt_sentence
from inspector.analysis.reading import Reading
from inspector.capture.capture import Endpoint
from inspector.capture.errors import InspectorError
from inspector.capture.formats import clip, number
from inspector.protocol.engines.replays import is_replayed
from inspector.protocol.harmony.vocab import Marker
from inspector.protocol.wire.endpoints import spec_of
from inspector.protocol.wire.stream import loads

_MESSAGES_AT_MOST: Final = 8_000
_ORDER: Final = (PromptSeverity.WARNING, PromptSeverity.NOTE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt as token IDs and messages."""

    ids: Sequence[int]
    source: PromptSource
    counted: int | None
    """Tokens that the server counted, of a prompt that was rendered here; else None."""
    messages: tuple[PromptMessage, ...]
    differences: tuple[PromptDifference, ...]
    """From the request; warnings first, then in the order of the prompt."""
    unknown: str
    """Why it was not compared, one sentence; empty when it was."""
    identical: bool
    """True when everything after the system message is the reference rendering, token for token."""

    @property
    def harmony(self) -> bool:
        """False for a text without special tokens."""
        return Marker.START in self.ids

    @property
    def sentence(self) -> str:
        """What was found, in a sentence or two."""
        return prompt_sentence(self.differences, unknown=self.unknown, identical=self.identical)

    @property
    def worst(self) -> PromptSeverity | None:
        """The worst severity; None without differences."""
        severities = {difference.severity for difference in self.differences}
        return next((severity for severity in _ORDER if severity in severities), None)


def prompt_of(reading: Reading) -> Prompt | None:
    """The prompt of a response; None when its tokens are unknown."""
    source_ids = prompt_ids(reading)
    if source_ids is None:
        return None
    ids, source, counted = source_ids
    messages = parse(ids)
    differences, unknown, identical = _compared(reading, ids, source, messages)
    return Prompt(
        ids=ids,
        source=source,
        counted=counted,
        messages=messages,
        differences=tuple(sorted(differences, key=lambda difference: _ORDER.index(difference.severity))),
        unknown=unknown,
        identical=identical,
    )


def _compared(
    reading: Reading, ids: list[int], source: PromptSource, messages: Sequence[PromptMessage]
) -> tuple[list[PromptDifference], str, bool]:
    request = reading.header.request
    if is_replayed(reading.header.owned_by):
        return [], "The response was replayed: this is the prompt of the request that was recorded.", False
    if not reading.spec.parsed:
        if source is not PromptSource.SERVER:
            return [], "The server did not send its prompt; these are the tokens of the request.", False
        if not isinstance(request.get("prompt"), str | list):
            return [], "The capture has no prompt of a request to compare it with.", False
        return list(raw_differences(request, ids)), "", False
    if Marker.START not in ids:
        return [], "The prompt contains no Harmony message.", False
    if len(messages) > _MESSAGES_AT_MOST:
        return [], f"It has more than {number(_MESSAGES_AT_MOST)} messages.", False
    requested = (
        requested_by_responses(request)
        if reading.header.endpoint is Endpoint.RESPONSES
        else requested_by_chat(request)
    )
    if requested.unknown:
        return [], requested.unknown, False
    opened = request.get("add_generation_prompt") is not False
    differences = list(chat_differences(requested, messages, ids, today=_today(reading), opened=opened))
    sent = source is not PromptSource.RENDERED  # what was rendered here does not show what the server sent
    return differences, "", sent and not differences and _identical(requested, ids)


def _identical(requested: Requested, ids: Sequence[int]) -> bool:
    """True when the prompt after its first message is what the library renders."""
    if not is_renderable(requested):
        return False
    try:
        rendered = render(requested)
    except InspectorError:
        return False
    return _after_first(rendered) == _after_first(ids)


def _after_first(ids: Sequence[int]) -> Sequence[int]:
    """What follows the first message."""
    return next((ids[at:] for at, token_id in enumerate(ids) if at and token_id == Marker.START), ())


def _today(reading: Reading) -> date | None:
    """The day of the response by the server's clock, else by the recorder's; None when unknown."""
    for event in reading.events[:4]:
        payload = loads(event.data)
        created = payload.get("created") if isinstance(payload, Mapping) else None
        if type(created) is int and 0 < created < _YEAR_3000:
            return datetime.fromtimestamp(created, UTC).date()
    started = _DAY.match(reading.header.started_at or "")
    try:
        return date.fromisoformat(started[0]) if started else None
    except ValueError:
        return None


_YEAR_3000: Final = 32_503_680_000
_DAY: Final[re.Pattern[str]] = re.compile(r"\d{4}-\d{2}-\d{2}")


_ANSWER: Final = ("final", "commentary", "analysis")
"""An answer of the history has no channel: text beside a call looks like any other."""


def requested_by_responses(request: Mapping[str, Any]) -> Requested:
    """Read the body of a Responses request; what cannot be rendered is left out, and `unknown` says so."""
    requested = begin(request)
    for key in spec_of(Endpoint.RESPONSES).elsewhere:
        if request.get(key):
            requested.leave_uncompared(
                f"The request sets {key}, so only the server knows what the prompt should be."
            )
    history = request.get("input")
    if isinstance(history, str):
        history = [{"role": "user", "content": history}]
    items = entries(history, requested)
    if isinstance(instructions := request.get("instructions"), str) and instructions:
        requested.instructions.append((None, instructions))
    last = _last(items)
    names: dict[str, str] = {}
    for index, item in enumerate(items):
        if isinstance(item, Mapping):
            requested.items.extend(_items(index, item, requested, names, current=index > last))
    return requested


def _last(items: Sequence[object]) -> int:
    """The last message of the user or the assistant: reasoning behind it belongs to the unfinished turn."""
    places = (
        index
        for index, item in enumerate(items)
        if isinstance(item, Mapping) and item.get("role") in ("user", "assistant")
    )
    return max(places, default=-1)


def _items(
    index: int, item: Mapping[str, Any], requested: Requested, names: dict[str, str], *, current: bool
) -> Iterator[HistoryItem]:
    match item.get("type", "message"):
        case "message":
            yield from _message(index, item, requested)
        case "reasoning":
            text = text_in(item.get("content"), index, requested)
            if text.strip():
                yield HistoryItem(kind=ItemKind.REASONING, text=text, message=index, needed=current)
        case "function_call":
            name, call, arguments = str(item.get("name")), item.get("call_id"), item.get("arguments")
            if isinstance(call, str):
                names[call] = name
            if not isinstance(arguments, str):
                arguments = "" if arguments is None else dumped(arguments)
            yield HistoryItem(kind=ItemKind.CALL, text=arguments, message=index, name=name)
        case "function_call_output":
            call = item.get("call_id")
            text = text_in(item.get("output"), index, requested)
            named = names.get(call) if isinstance(call, str) else None
            yield HistoryItem(kind=ItemKind.RESULT, text=text, message=index, name=named)
        case item_type:
            type_words = repr(clip(item_type, 40)) if isinstance(item_type, str) else "no text"
            requested.leave_uncompared(
                f"Item {index} of the request has {type_words} as its type, which is not rendered here."
            )


def _message(index: int, item: Mapping[str, Any], requested: Requested) -> Iterator[HistoryItem]:
    role, text = item.get("role"), text_in(item.get("content"), index, requested)
    match role:
        case "system" | "developer":
            if text:
                requested.instructions.append((index, text))
        case "user":
            yield HistoryItem(kind=ItemKind.USER, text=text, message=index, needed=bool(text.strip()))
        case "assistant":
            if text.strip():
                yield HistoryItem(kind=ItemKind.ANSWER, text=text, message=index, channels=_ANSWER)
        case _:
            role_words = repr(clip(role, 40)) if isinstance(role, str) else "no role"
            requested.leave_uncompared(
                f"Message {index} of the request has {role_words} as its role, which is not rendered here."
            )
