"""Rendered Harmony: token IDs, or text that is encoded first, read by the same parser as a prompt."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import Final

from inspector.analysis.prompt.messages import MessageState, PromptMessage, parse
from inspector.capture.bounds import TOKENS
from inspector.capture.formats import clip, count
from inspector.data.lint.finding import Flaw
from inspector.data.lint.padding import RUN, SPECIAL_FROM, unpadded
from inspector.data.lint.rules import Rule
from inspector.data.lint.structure import SHOWN, Part, check_structure, conversations
from inspector.protocol.harmony.markup import first_spelled, spelled
from inspector.protocol.harmony.states import STOPS
from inspector.protocol.harmony.text import text_of, texts
from inspector.protocol.harmony.vocab import (
    ASSISTANT,
    MARKERS,
    VOCABULARY_SIZE,
    Marker,
    encode,
    is_endless,
    token_bytes,
)

_CHARACTERS: Final = 4_000_000
_OPENING: Final = (int(Marker.START), ASSISTANT)
_HEADER: Final = frozenset({int(Marker.CHANNEL), int(Marker.CONSTRAIN), int(Marker.MESSAGE)})
"""Special tokens of a header that is open for the response."""
_ANALYSIS: Final = 35644
_FINAL: Final = 17196
_HEADER_AT_MOST: Final = 64
_OPEN_HEADER: Final = re.compile(
    r"assistant(?: to=\S+)?"
    r"(?:<\|channel\|>(?:(?:analysis|commentary|final)(?: to=\S+)?(?: (?:<\|constrain\|>)?\w+)?"
    r"(?:<\|message\|>)?)?)?"
)
"""A header that a prompt may end in, for the response to go on."""
_CONTINUES: Final = frozenset({Marker.CHANNEL, Marker.MESSAGE, Marker.CONSTRAIN})
"""What a completion begins with: its prompt ended in `<|start|>assistant`."""


class Ending(StrEnum):
    """How the last final answer of a row ends, where the row ends with one."""

    RETURN = "return"
    END = "end"


@dataclass(slots=True)
class Rendered:
    """What one value came to."""

    flaws: list[Flaw] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    ending: Ending | None = None
    last: Flaw | None = None
    """The place of a last final answer that ends in `<|end|>`."""
    completion: bool = False
    """True where the value begins within the header of a response, as a completion does."""


def check_text(text: str) -> Rendered:
    """Check rendered text; places are characters."""
    if len(text) > _CHARACTERS or is_endless(text):
        return Rendered(flaws=[Flaw(rule=Rule.TOO_LONG)])
    ids = encode(text)
    rendered = check_ids(ids)
    if any(flaw.at for flaw in [*rendered.flaws, rendered.last] if flaw is not None):
        starts = [0]
        for token_text in texts(ids):
            starts.append(starts[-1] + len(token_text))
        rendered.flaws = [_moved(flaw, starts) for flaw in rendered.flaws]
        rendered.last = None if rendered.last is None else _moved(rendered.last, starts)
    return rendered


def _moved(flaw: Flaw, starts: Sequence[int]) -> Flaw:
    """The flaw with its place as a character."""
    at = None if flaw.at is None else starts[min(flaw.at, len(starts) - 1)]
    return Flaw(rule=flaw.rule, at=at, message=flaw.message, excerpt=flaw.excerpt, note=flaw.note)


def check_ids(ids: Sequence[int], *, run: int = RUN) -> Rendered:
    """Check token IDs, of which so many `<|return|>` at the end are padding; places are tokens."""
    if len(ids) > TOKENS:
        return Rendered(flaws=[Flaw(rule=Rule.TOO_LONG)])
    for at, token_id in enumerate(ids):
        if not 0 <= token_id < VOCABULARY_SIZE:
            note = f"{token_id} is not a token of gpt-oss."
            return Rendered(flaws=[Flaw(rule=Rule.WRONG_FORM, at=at, note=note)])
    first, end = unpadded(ids, run=run)
    inner = ids[first:end]
    if not inner:
        return Rendered()
    if MARKERS.isdisjoint(inner):
        return Rendered(flaws=list(_without_markers(inner, first)))
    opening = _opening(inner)
    shift = first - len(opening)
    all_ids = [*opening, *inner] if opening else inner
    messages = parse(all_ids)
    parts = [_part(message, shift) for message in messages]
    for at, message in enumerate(messages):
        if _spells_in_header(message, all_ids) is not None:
            parts[at] = replace(parts[at], has_header=False)
    rendered = Rendered(parts=parts, completion=bool(opening))
    for message, before in _with_before(messages):
        rendered.flaws += _message(message, before, all_ids, shift)
    for conversation in conversations(parts):
        ended = messages[conversation[-1].message].state is not MessageState.OPEN  # else `_message` checks it
        if complete := conversation if ended else conversation[:-1]:
            rendered.flaws += check_structure(complete, ended=ended)
        last = max((part.message for part in conversation if _is_message(messages[part.message])), default=-1)
        for part in conversation:
            rendered.flaws += _terminator(
                part, messages[part.message], all_ids, shift, last=part.message == last
            )
        final = conversation[-1]
        _note_ending(rendered, final, messages[final.message], all_ids, shift)
    rendered.flaws.sort(key=lambda flaw: flaw.at or 0)
    return rendered


def _opening(ids: Sequence[int]) -> tuple[int, ...]:
    """What the prompt of a completion has of its first message: nothing for rows that begin a message.

    A prompt may end anywhere in the header of the response, or behind it. The channel of a text without its
    header is not known: it is taken as final where the response ends with it, else as analysis.
    """
    if ids[0] in _CONTINUES and ids[0] != Marker.MESSAGE:
        return _OPENING
    ends = ids[-1] in STOPS and STOPS.isdisjoint(ids[:-1])
    channel = (int(Marker.CHANNEL), _FINAL if ends else _ANALYSIS)
    if ids[0] == Marker.MESSAGE:
        return (*_OPENING, *channel)
    at, marker = next((at, token_id) for at, token_id in enumerate(ids) if token_id in MARKERS)
    if marker == Marker.CHANNEL and at == 1 and ids[0] == ASSISTANT:
        return _OPENING[:1]
    if marker == Marker.MESSAGE and at < _HEADER_AT_MOST:
        return (*_OPENING, int(Marker.CHANNEL))
    if marker in STOPS and (at + 1 == len(ids) or ids[at + 1] == Marker.START):
        return (*_OPENING, *channel, int(Marker.MESSAGE))
    return ()


def _spells_in_header(message: PromptMessage, ids: Sequence[int]) -> int | None:
    """The token of a header at which ordinary tokens spell a special token."""
    header = ids[message.start : min(message.body, message.start + _HEADER_AT_MOST)]
    if "<|" not in text_of([token_id for token_id in header if token_id < SPECIAL_FROM]):
        return None
    for at in spelled(text_of(header)):
        token = _token_at(header, at)
        if header[token] not in MARKERS:
            return message.start + token
    return None


def _is_message(message: PromptMessage) -> bool:
    return message.state in {MessageState.COMPLETE, MessageState.OPEN}


def _without_markers(ids: Sequence[int], first: int) -> Iterator[Flaw]:
    """Ordinary tokens only: they spell Harmony, or are something else."""
    text = text_of(ids)
    if (start := first_spelled(text)) is None:
        yield Flaw(
            rule=Rule.REJECTED_TOKEN, at=first, excerpt=clip(text, SHOWN), note="No special token is here."
        )
        return
    markers = count(len(spelled(text)), "special token")
    yield Flaw(
        rule=Rule.SPELLED_SPECIAL_TOKEN,
        at=first + _token_at(ids, start),
        excerpt=clip(text[start:], SHOWN),
        note=f"The row spells {markers} and has no real one.",
    )


def _token_at(ids: Sequence[int], character: int) -> int:
    """The token that shows a character of the text."""
    characters = 0
    for at, text in enumerate(texts(ids)):
        characters += len(text)
        if characters > character:
            return at
    return 0


def _part(message: PromptMessage, shift: int) -> Part:
    has_header = message.state is MessageState.COMPLETE or (
        message.state is MessageState.OPEN and message.body < message.end
    )
    return Part(
        message=message.index,
        at=max(message.start + shift, 0),
        role=message.role,
        channel=message.channel,
        recipient=message.recipient,
        text=message.text,
        has_header=has_header,
    )


def _with_before(
    messages: Sequence[PromptMessage],
) -> Iterator[tuple[PromptMessage, PromptMessage | None]]:
    yield messages[0], None
    for before, message in pairwise(messages):
        yield message, before


def _message(
    message: PromptMessage, before: PromptMessage | None, ids: Sequence[int], shift: int
) -> Iterator[Flaw]:
    if (place := _spells_in_header(message, ids)) is not None:
        yield Flaw(
            rule=Rule.SPELLED_SPECIAL_TOKEN,
            at=max(place + shift, 0),
            message=message.index,
            excerpt=clip(text_of(ids[place : message.end][:64]), SHOWN),
            note="It is in a header.",
        )
        return
    match message.state:
        case MessageState.CUT | MessageState.REJECTED:
            yield from _rejected(message, before, ids, shift)
        case MessageState.OPEN if message.body < message.end:
            yield _at_end(Rule.TRUNCATED, message, shift)
            yield from _body(message, shift)
        case MessageState.OPEN:
            header = ids[message.start + 1 : message.end]
            if not MARKERS.isdisjoint(set(header) - _HEADER):
                yield Flaw(
                    rule=Rule.REJECTED_HEADER,
                    at=max(message.start + shift, 0),
                    message=message.index,
                    excerpt=clip(text_of(header[:64]), SHOWN),
                    note="It has no <|message|>.",
                )
            elif _OPEN_HEADER.fullmatch(text_of(header)) is None:
                yield Flaw(
                    rule=Rule.TRUNCATED,
                    at=max(message.end - 1 + shift, 0),
                    message=message.index,
                    excerpt=clip(text_of(header[:64]), SHOWN),
                    note="It ends inside a header.",
                )
        case _:
            yield from _body(message, shift)


def _rejected(
    message: PromptMessage, before: PromptMessage | None, ids: Sequence[int], shift: int
) -> Iterator[Flaw]:
    opens = ids[message.start] == Marker.START
    closed = before is not None and before.state is MessageState.COMPLETE
    rule = Rule.REJECTED_HEADER if opens else Rule.REJECTED_TOKEN
    note = f"The parser: {clip(message.words, 200)}."
    run = ids[message.start : message.end]
    if closed and run[0] in STOPS:
        rule = Rule.DOUBLE_TERMINATOR
        note = f"It is {Marker(ids[message.start - 1]).text}{Marker(run[0]).text}."
    at = max(message.start + shift, 0)
    yield Flaw(rule=rule, at=at, message=message.index, excerpt=clip(text_of(run[:64]), SHOWN), note=note)


def _body(message: PromptMessage, shift: int) -> Iterator[Flaw]:
    """Special tokens in a body, real or spelled."""
    special_at = [at for at, token_id in enumerate(message.ids) if token_id >= SPECIAL_FROM]
    if special_at:
        spelling = token_bytes(message.ids[special_at[0]]).decode()
        yield Flaw(
            rule=Rule.SPECIAL_TOKEN_IN_BODY,
            at=max(message.body + special_at[0] + shift, 0),
            message=message.index,
            excerpt=clip(text_of(message.ids[special_at[0] :][:64]), SHOWN),
            note=f"It is {spelling}."
            if len(special_at) == 1
            else f"There are {len(special_at):,}; the first is {spelling}.",
        )
    if "<|" not in message.text:
        return
    for at in spelled(message.text):
        token = _token_at(message.ids, at)
        if message.ids[token] < SPECIAL_FROM:
            yield Flaw(
                rule=Rule.SPELLED_SPECIAL_TOKEN,
                at=max(message.body + token + shift, 0),
                message=message.index,
                excerpt=clip(message.text[at:], SHOWN),
            )
            return


def _terminator(
    part: Part, message: PromptMessage, ids: Sequence[int], shift: int, *, last: bool
) -> Iterator[Flaw]:
    if message.state is not MessageState.COMPLETE or not part.has_header:
        return
    stop = ids[message.end - 1]
    rule = None
    if stop == Marker.RETURN and not (last and part.is_final):
        rule = Rule.MISPLACED_RETURN
    elif stop == Marker.CALL and not part.is_call:
        rule = Rule.CALL_TOKEN_WITHOUT_CALL
    elif stop != Marker.CALL and part.is_call and part.channel != "final":
        rule = Rule.CALL_WITHOUT_CALL_TOKEN
    if rule is not None:
        yield _at_end(rule, message, shift)


def _note_ending(
    rendered: Rendered, part: Part, message: PromptMessage, ids: Sequence[int], shift: int
) -> None:
    """How the conversation ends, where it ends with a final answer."""
    if not part.is_final or message.state is not MessageState.COMPLETE:
        return
    stop = ids[message.end - 1]
    if stop == Marker.END:
        rendered.ending = Ending.END
        rendered.last = _at_end(Rule.END_FOR_RETURN, message, shift)
    elif stop == Marker.RETURN and rendered.ending is None:
        rendered.ending = Ending.RETURN


def _at_end(rule: Rule, message: PromptMessage, shift: int) -> Flaw:
    at = max(message.end - 1 + shift, 0)
    return Flaw(rule=rule, at=at, message=message.index, excerpt=_tail(message.text))


def _tail(text: str) -> str:
    return text if len(text) <= SHOWN else f"…{text[1 - SHOWN :]}"
