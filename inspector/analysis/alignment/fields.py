"""The tokens of a parsed response aligned with its fields: where the text of each message was delivered.

The generated side is a list of parts: the bodies of messages and the rejected runs. A part has a *lane*, the
field that should deliver it, or none: messages to the server's own tools, rejected runs and an unfinished
last header have no lane. The delivered side is a list of deltas for each field.

The explanations are tried from the cheapest on, and each leaves to the next what it cannot explain:

1. A field is *complete*: its text is that of its messages. This holds for nearly every field of every
   response.
2. A field is *composed*: its text is that of its own messages and of some parts without a lane, in the order
   of their tokens, perhaps with a separator before each. So servers deliver some messages to tools, and vLLM
   from 0.25 a header that the stream ends in.
3. In an unstreamed response, a message without a lane has a field of its own, in which its JSON was
   reformatted.
4. What is left is aligned token by token (`by_token`): first within each event, then within each field
   (`matching`), and at last over the whole stream (`leftovers`).

Steps 1 to 3 compare the text of a whole field, so they do not depend on how it was cut into events. Step 2
comes before tokens because within one event a separator cannot be told from a line feed of the text.
"""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final, NamedTuple

from inspector.analysis.alignment.by_token import align_by_token
from inspector.analysis.alignment.calls import arrived, renumbered
from inspector.analysis.alignment.cells import (
    Alignment,
    Extra,
    Fate,
    FateState,
    Part,
    spellings,
    whole_fate,
    with_left_out,
)
from inspector.analysis.alignment.stops import StopOptions
from inspector.analysis.reading import ChoiceReading
from inspector.capture.deltas import Delta
from inspector.protocol.harmony.text import text_of

_LINE_FEED: Final = "\n"
_PLACES_AT_MOST: Final = 64
"""Positions in a field that are tried after one part; only texts that repeat each other have more."""


class _Field(NamedTuple):
    """One delivered field, and the parts that should be delivered in it."""

    name: str
    parts: Sequence[Part]
    deltas: Sequence[Delta]
    text: str


class _Composition(NamedTuple):
    """A field as texts of parts, one after another."""

    fates: Sequence[Fate]
    joints: Sequence[int] = ()
    """Places at which the server put a separator between two of them."""


def align_fields(choice: ChoiceReading, stop: StopOptions, *, unstreamed: bool = False) -> Alignment:
    """The alignment of a response whose tokens the server parsed.

    `unstreamed` is for responses in one body: vLLM joins messages there by line feeds and rewrites the
    arguments of tool calls.
    """
    ids = choice.tokens.ids
    calls = arrived(choice)
    delivered = renumbered(choice, calls)
    parts = parts_of(choice, delivered)
    separator = _LINE_FEED if unstreamed else choice.expected.separator
    loose = [part for part in parts if part.lane is None and part.message is not None]
    loose += _open_header(choice)

    fates: list[Fate] = []
    separators: list[Extra] = []
    unexplained: list[_Field] = []
    stopped_part, delivered_stop = None, ""
    for whole_field in _fields(parts, delivered):
        field = whole_field
        composition = _complete(ids, field, unstreamed=unstreamed) or _composed(ids, field, loose, separator)
        if (stopped := _stopped(choice, field, stop)) is not None:
            if composition is not None:
                delivered_stop = stopped[1]
            else:
                field = stopped[0]
                stopped_part = field.parts[-1]
                composition = _complete(ids, field, unstreamed=unstreamed) or _composed(
                    ids, field, loose, separator
                )
        if composition is None:
            unexplained.append(field)
            continue
        fates += composition.fates
        if loose:
            loose = _without(loose, (fate.start for fate in composition.fates))
        if not unstreamed:
            separators += _separators(composition, separator, field)
    if unstreamed:
        reformatted = list(_reformatted(ids, loose, unexplained))
        fates += reformatted
        loose = _without(loose, (fate.start for fate in reformatted))
        names = {fate.delivered_in for fate in reformatted}
        unexplained = [field for field in unexplained if field.name not in names]

    remaining = [part for field in unexplained for part in field.parts]
    remaining += [part for part in loose if part.message is not None]
    remaining += [part for part in parts if part.lane is None and part.message is None]
    sent = {field.name: field.deltas for field in unexplained}
    by_token, extras = align_by_token(choice, remaining, sent, separator=separator)
    if unstreamed:  # line feeds that the endpoint promises there
        extras = [extra for extra in extras if not extra.separates]
    fates = sorted([*fates, *by_token], key=lambda fate: fate.start)
    return Alignment(
        fates=fates if stopped_part is None else with_left_out(ids, stopped_part, fates),
        extras=[*separators, *extras],
        calls=calls,
        delivered_stop=delivered_stop,
    )


def align_beginning(choice: ChoiceReading, hidden: Collection[str]) -> Alignment | None:
    """The alignment of a response whose fields have the texts of its first tokens; None for others.

    `hidden` are fields that the request does not ask for.
    By token the end of what arrived would be searched for in all that the model wrote after it.
    """
    ids, separator = choice.tokens.ids, choice.expected.separator
    calls = arrived(choice)
    delivered = renumbered(choice, calls)
    parts = parts_of(choice, delivered)
    fields = {field.name: field for field in _fields(parts, delivered)}
    places = dict.fromkeys(fields, 0)
    joints: dict[str, list[int]] = {name: [] for name in fields}
    fates: list[Fate] = []
    ended = False
    for part in parts:
        text = text_of(ids[part.start : part.end])
        if not text:
            continue
        if ended or part.lane is None or part.lane in hidden:
            fates.append(Fate(part.start, part.end, FateState.UNSERVED, part.field, None, part.message, text))
            continue
        sent, place = fields[part.lane].text, places[part.lane]
        if place and separator and sent.startswith(separator, place) and not text.startswith(separator):
            joints[part.lane].append(place)
            place += len(separator)
        kept = sent[place : place + len(text)]
        if not text.startswith(kept):
            return None
        ended = len(kept) < len(text)
        beginning = whole_fate(part, part.lane, kept, place)
        fates += with_left_out(ids, replace(part, kept=len(kept)), [beginning]) if ended else [beginning]
        places[part.lane] = place + len(kept)
    if any(places[name] < len(field.text) for name, field in fields.items()):
        return None
    extras = [
        extra
        for name, field in fields.items()
        for extra in _separators(_Composition((), joints[name]), separator, field)
    ]
    return Alignment(fates=fates, extras=extras, calls=calls)


def _stopped(choice: ChoiceReading, field: _Field, stop: StopOptions) -> tuple[_Field, str] | None:
    """A field whose last text ends before a stop string, and that string; None where no text does."""
    if not stop.strings or not field.parts or not choice.transcript.messages:
        return None
    part, last = field.parts[-1], choice.transcript.messages[-1]
    if part.message != len(choice.transcript.messages) - 1 or last.complete or part.field is None:
        return None
    text = text_of(choice.tokens.ids[part.start : part.end])
    place = stop.string_in(text, field.text, choice.finish_reason)
    if place is None:
        return None
    return field._replace(parts=[*field.parts[:-1], replace(part, kept=place[0])]), place[1]


def parts_of(choice: ChoiceReading, delivered: Iterable[str]) -> list[Part]:
    """Bodies and rejected runs.

    A message without a field has its lane in an item of a server-side tool, where Responses delivers it, if
    there is one among the fields `delivered`.
    """
    items: dict[str, list[str]] = {
        kind: sorted((name for name in delivered if name.startswith(kind)), key=_number)
        for kind in ("code_interpreter_call[", "mcp_call[")
    }
    parts: list[Part] = []
    for segment in choice.expected.segments:
        lane = segment.field
        if lane is None and segment.message is not None:
            recipient = choice.transcript.messages[segment.message].header.recipient
            names = items["code_interpreter_call[" if recipient == "python" else "mcp_call["]
            if recipient is not None and names:
                lane = names.pop(0)
        parts.append(Part(segment.start, segment.end, segment.field, lane, segment.message))
    return parts


def same_when_joined(texts: Sequence[str], delivered: str) -> bool:
    """True when a field of an unstreamed response has the texts of all its messages.

    vLLM joins messages by line feeds there, and reformats the JSON of a call's arguments.
    """
    if _LINE_FEED.join([text for text in texts if text]) == delivered:
        return True
    if len(texts) != 1:
        return False
    try:
        return bool(json.loads(texts[0]) == json.loads(delivered))
    except (ValueError, RecursionError):
        return False


def _number(field: str) -> int:
    digits = field.partition("[")[2].partition("]")[0]
    return int(digits) if digits.isdecimal() else 0


def _open_header(choice: ChoiceReading) -> list[Part]:
    """A header that the response ends in: some servers deliver it as text (vLLM from 0.25)."""
    last = next(reversed(choice.transcript.messages), None)
    if last is None or last.in_body or last.end < len(choice.tokens):
        return []
    return [Part(last.start, last.end, None, None, None)]


def _fields(parts: Iterable[Part], delivered: Mapping[str, Sequence[Delta]]) -> Iterator[_Field]:
    lanes: defaultdict[str, list[Part]] = defaultdict(list)
    for part in parts:
        if part.lane is not None:
            lanes[part.lane].append(part)
    for name in sorted({*lanes, *(name for name in delivered if not name.endswith(".name"))}):
        deltas = delivered.get(name, ())
        # By index: the names of the fields take twice the time.
        yield _Field(name, lanes.get(name, []), deltas, "".join([delta[2] for delta in deltas]))


def _without(parts: Sequence[Part], starts: Iterable[int]) -> list[Part]:
    removed = frozenset(starts)
    return [part for part in parts if part.start not in removed]


def _complete(ids: Sequence[int], field: _Field, *, unstreamed: bool) -> _Composition | None:
    """A field as the texts of its own messages; None where it has other text."""
    for texts in spellings(ids, field.parts):
        if "".join(texts) == field.text:
            return _laid(field, texts, 0)
        if unstreamed and _LINE_FEED.join(filter(None, texts)) == field.text:
            return _laid(field, texts, len(_LINE_FEED))
    if unstreamed and same_when_joined(texts, field.text):
        return _Composition([whole_fate(field.parts[0], field.name, texts[0], 0, field.text)])
    return None


def _laid(field: _Field, texts: Sequence[str], between: int) -> _Composition:
    """The texts in sequence, with `between` characters between non-empty ones."""
    fates: list[Fate] = []
    at = 0
    for part, text in zip(field.parts, texts, strict=True):
        at += between if at and text else 0
        fates.append(whole_fate(part, field.name, text, at))
        at += len(text)
    return _Composition(fates)


def _composed(
    ids: Sequence[int], field: _Field, loose: Sequence[Part], separator: str
) -> _Composition | None:
    """A field as the texts of its own messages and of some loose parts; None where that is not all of it.

    The field is read from its start, part by part. `reached[n]` has the places up to which it may be read
    after n + 1 parts, and for each the place before it with the text between, None for a loose part that is
    left out. If the end of the field is among the places after the last part, the way back from there is the
    composition.
    """
    own = {part.start for part in field.parts}
    parts = sorted([*field.parts, *loose], key=lambda part: part.start)
    reached: list[dict[int, tuple[int, str | None]]] = []
    places: Collection[int] = (0,)
    for part in parts:
        required = part.start in own
        texts = dict.fromkeys(text for (text,) in spellings(ids, [part]))
        after: dict[int, tuple[int, str | None]] = {}
        for place in places:
            for text in texts:
                gaps = ("", separator) if separator and text and reached else ("",)
                for gap in gaps:
                    if (required or text) and field.text.startswith(gap + text, place):
                        after.setdefault(place + len(gap) + len(text), (place, text))
            if not required:
                after.setdefault(place, (place, None))
        if not after or len(after) > _PLACES_AT_MOST:
            return None
        reached.append(after)
        places = after.keys()
    place = len(field.text)
    if place not in places:
        return None
    fates: list[Fate] = []
    joints: list[int] = []
    for part, after in zip(reversed(parts), reversed(reached), strict=True):
        before, lost = after[place]
        if lost is not None:
            fates.append(whole_fate(part, field.name, lost, place - len(lost)))
            if place - len(lost) > before:
                joints.append(before)
        place = before
    return _Composition(fates[::-1], joints[::-1])


def _separators(composition: _Composition, separator: str, field: _Field) -> Iterator[Extra]:
    ends = [*accumulate(len(delta.text) for delta in field.deltas)]
    for place in composition.joints:
        event = field.deltas[bisect_right(ends, place)].event
        yield Extra(event, field.name, separator, place, separates=True)


def _reformatted(ids: Sequence[int], loose: Sequence[Part], fields: Sequence[_Field]) -> Iterator[Fate]:
    """Messages without a field that a server delivered in one of their own, with their JSON reformatted."""
    texts = {field.name: field.text for field in fields if not field.parts}
    for part in loose:
        text = text_of(ids[part.start : part.end], ended=False)
        lane = next(
            (name for name, delivered_text in texts.items() if same_when_joined([text], delivered_text)), None
        )
        if lane is not None and text and part.message is not None:
            yield whole_fate(part, lane, text, 0, texts.pop(lane))
