"""The tokens of a choice aligned with its deltas, field by field.

One event at a time first, then a field as a whole, then what is left over the whole stream; `matching` and
`leftovers` say how.
"""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, NamedTuple

from inspector.analysis.alignment.calls import arrived, renumbered
from inspector.analysis.alignment.cells import (
    FIRST_SPECIAL,
    Cell,
    Extra,
    Fate,
    FateState,
    Part,
    Stray,
    cells_of,
    fates_of,
    visible,
)
from inspector.analysis.alignment.leftovers import explain
from inspector.analysis.alignment.matching import match_events, match_field
from inspector.analysis.reading import ChoiceReading
from inspector.capture.deltas import TEXT, Delta
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import MARKERS, join_bytes

_BROKEN: Final = "\ufffd"
_CHARACTER_AT_MOST: Final = 4
"""Bytes, and so tokens, of one character."""
_PLACES_AT_MOST: Final = 64
"""Places that a text may end at while a field is read; more come only of texts that repeat each other."""


@dataclass(slots=True, kw_only=True)
class Alignment:
    """Fates of all body tokens in token order, and what was delivered beyond them."""

    fates: list[Fate]
    extras: list[Extra]
    calls: list[int | None]
    """For each generated tool call the index under which it was delivered; None where its name was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What of a request decides where the text of a plain completion ends."""

    stops: tuple[str, ...] = ()
    """Stop strings."""
    stop_ids: frozenset[int] = frozenset()
    """Stop tokens beyond the model's own."""
    included: bool = False
    """True when the text keeps what it stopped at (`include_stop_str_in_output`)."""


def align(
    reading: ChoiceReading,
    *,
    raw: bool = False,
    skip_special: bool = True,
    ending: Ending | None = None,
    unstreamed: bool = False,
) -> Alignment:
    """Lay tokens over deltas.

    `raw` is for completions, whose one field is the text of all tokens. `unstreamed` is for answers in one
    body: vLLM joins messages there by line feeds and rewrites the arguments of tool calls.
    """
    ids = reading.tokens.ids
    ending = ending or Ending()
    skip = raw and skip_special
    calls = [] if raw else arrived(reading)
    delivered = renumbered(reading, calls)
    parts = [Part(0, _raw_end(reading, ending), TEXT, TEXT, None)] if raw else parts_of(reading, delivered)
    lanes: defaultdict[str, list[Part]] = defaultdict(list)
    for part in parts:
        if part.lane is not None:
            lanes[part.lane].append(part)
    fieldless = [part for part in parts if part.lane is None and part.message is not None]
    rejected = [part for part in parts if part.lane is None and part.message is None]
    header = _open_header(reading)
    joiner = "\n" if unstreamed else reading.expected.separator

    fates: list[Fate] = []
    separators: list[Extra] = []
    unsettled: list[Part] = []
    sent: dict[str, Sequence[Delta]] = {}
    for lane in sorted({*lanes, *(name for name in delivered if not name.endswith(".name"))}):
        deltas = delivered.get(lane, ())
        got = "".join([delta[2] for delta in deltas])  # by place: the fields' names take twice the time
        own = lanes.get(lane, [])
        spans = [visible(ids[part.start : part.end], skip) for part in own]
        texts = [text_of(span, ended=False) for span in spans]
        whole = "".join(texts)
        complete = _same(spans, whole, got)
        if raw:
            complete = complete or _stopped(reading, whole, got, ending) or _held_back(spans, got)
        if unstreamed:
            complete = complete or same_when_joined(texts, got)
        if complete:
            fates.extend(_delivered(part, lane, text) for part, text in zip(own, texts, strict=True))
            continue
        row = None if raw else _row(ids, own, [*fieldless, *header], got, joiner)
        if row is None:
            sent[lane] = deltas
            unsettled.extend(own)
            continue
        fates.extend(_delivered(part, lane, text) for part, text, _ in row.texts)
        taken = {part.start for part, _, _ in row.texts}
        header = [part for part in header if part.start not in taken]
        fieldless = [part for part in fieldless if part.start not in taken]
        if not unstreamed:
            separators.extend(_separators(row, joiner, lane, deltas))
    if unstreamed:
        served = list(
            _served_reformatted(
                ids, fieldless, {lane: one for lane, one in sent.items() if not lanes.get(lane)}
            )
        )
        fates.extend(served)
        taken_by = {fate.start: fate.delivered_in for fate in served}
        fieldless = [part for part in fieldless if part.start not in taken_by]
        sent = {lane: one for lane, one in sent.items() if lane not in taken_by.values()}
    unsettled += [*fieldless, *rejected]
    more, extras = _explain(reading, unsettled, sent, raw=raw, skip=skip, unstreamed=unstreamed)
    return Alignment(
        fates=sorted([*fates, *more], key=lambda fate: fate.start),
        extras=[*separators, *extras],
        calls=calls,
    )


def _delivered(part: Part, lane: str, text: str) -> Fate:
    body = part.message is not None
    state = FateState.OK if body or part.field is not None else FateState.MISROUTED
    return Fate(part.start, part.end, state, part.field, lane, part.message, text, "" if body else text)


def _open_header(reading: ChoiceReading) -> list[Part]:
    """A header that the response ends in: some servers deliver it as text (vLLM from 0.25)."""
    last = next(reversed(reading.transcript.messages), None)
    if last is None or last.in_body or last.end < len(reading.tokens):
        return []
    return [Part(last.start, last.end, None, None, None)]


class _Row(NamedTuple):
    """The texts of a delivered field, one after another."""

    texts: Sequence[tuple[Part, str, int]]
    """Each with its place in the field."""
    joiners: Sequence[int]
    """Places at which the server put a joiner between two of them."""


def _row(
    ids: Sequence[int], own: Sequence[Part], fieldless: Sequence[Part], got: str, joiner: str
) -> _Row | None:
    """A field as the texts of all of its own messages and of some parts that have no field, in order.

    Read from the field as a whole, so that it does not matter into which events the text was cut. A server
    may put a joiner before each text but the first message's; beside a line feed of a text, or within one
    delta, its event does not show which of two line feeds the server added. None where that does not explain
    all of the field.
    """
    own_starts = {part.start for part in own}
    parts = sorted([*own, *fieldless], key=lambda part: part.start)
    # After each part: the places up to which the field may be read, with the place before and the text.
    steps: list[dict[int, tuple[int, str | None]]] = []
    places: Collection[int] = (0,)
    for part in parts:
        required = part.start in own_starts
        span = ids[part.start : part.end]
        spellings = dict.fromkeys((text_of(span, ended=False), text_of(span)))
        after: dict[int, tuple[int, str | None]] = {}
        for place in places:
            for text in spellings:
                gaps = ("", joiner) if joiner and text and steps else ("",)
                for gap in gaps:
                    if (required or text) and got.startswith(gap + text, place):
                        after.setdefault(place + len(gap) + len(text), (place, text))
            if not required:
                after.setdefault(place, (place, None))
        if not after or len(after) > _PLACES_AT_MOST:
            return None
        steps.append(after)
        places = after.keys()
    place = len(got)
    if place not in places:
        return None
    texts: list[tuple[Part, str, int]] = []
    joiners: list[int] = []
    for part, step in zip(reversed(parts), reversed(steps), strict=True):
        before, taken = step[place]
        if taken is not None:
            texts.append((part, taken, place - len(taken)))
            if place - len(taken) > before:
                joiners.append(before)
        place = before
    return _Row(texts[::-1], joiners[::-1])


def _separators(row: _Row, separator: str, field: str, deltas: Sequence[Delta]) -> Iterator[Extra]:
    ends = [*accumulate(len(delta.text) for delta in deltas)]
    for place in row.joiners:
        yield Extra(deltas[bisect_right(ends, place)].event, field, separator, separates=True)


def _served_reformatted(
    ids: Sequence[int], parts: Sequence[Part], sent: Mapping[str, Sequence[Delta]]
) -> Iterator[Fate]:
    """Messages without a field that a server delivered in one, with their JSON reformatted."""
    left = {lane: "".join([delta.text for delta in deltas]) for lane, deltas in sent.items()}
    for part in parts:
        text = text_of(ids[part.start : part.end], ended=False)
        lane = next((lane for lane, got in left.items() if same_when_joined([text], got)), None)
        if lane is not None and text and part.message is not None:
            del left[lane]
            yield Fate(part.start, part.end, FateState.OK, None, lane, part.message, text)


def _explain(
    reading: ChoiceReading,
    parts: Iterable[Part],
    sent: dict[str, Sequence[Delta]],
    *,
    raw: bool,
    skip: bool,
    unstreamed: bool,
) -> tuple[list[Fate], list[Extra]]:
    """Fates of the tokens of lanes that did not arrive complete, and what arrived without a token."""
    ids = reading.tokens.ids
    cells = [cell for part in parts for cell in cells_of(reading.tokens, part, skip_special=skip)]
    extras, leaks = _match(reading, cells, sent, unstreamed=unstreamed)
    # Special tokens among rejected tokens frame nothing and are nobody's text.
    cells = [cell for cell in cells if raw or cell.message is not None or ids[cell.token] not in MARKERS]
    cells.sort(key=lambda cell: cell.token)
    return [*leaks, *fates_of(cells)], extras


def _same(spans: Sequence[Sequence[int]], whole: str, got: str) -> bool:
    """True when all arrived; a character that a body only began may be told as U+FFFD or not at all."""
    if whole == got:
        return True
    return _BROKEN in got and "".join([text_of(span) for span in spans]) == got


def parts_of(reading: ChoiceReading, delivered: Iterable[str]) -> list[Part]:
    """Bodies and refused runs.

    Text that no field is promised for is looked for in the items of server-side tools, where Responses
    delivers it.
    """
    free: dict[str, list[str]] = {
        kind: sorted((name for name in delivered if name.startswith(kind)), key=_number)
        for kind in ("code_interpreter_call[", "mcp_call[")
    }
    parts: list[Part] = []
    for segment in reading.expected.segments:
        lane = segment.field
        if lane is None and segment.message is not None:
            recipient = reading.transcript.messages[segment.message].header.recipient
            names = free["code_interpreter_call[" if recipient == "python" else "mcp_call["]
            if recipient is not None and names:
                lane = names.pop(0)
        parts.append(Part(segment.start, segment.end, segment.field, lane, segment.message))
    return parts


def _number(field: str) -> int:
    digits = field.partition("[")[2].partition("]")[0]
    return int(digits) if digits.isdecimal() else 0


def _match(
    reading: ChoiceReading, cells: Sequence[Cell], sent: dict[str, Sequence[Delta]], *, unstreamed: bool
) -> tuple[list[Extra], list[Fate]]:
    deliveries = [(delta.event, delta.field, delta.text) for deltas in sent.values() for delta in deltas]
    if not deliveries:
        return [], []
    timed = bool(cells) and cells[0].event >= 0
    left = (
        match_events(cells, deliveries)
        if timed
        else [Stray(event, field, text) for event, field, text in deliveries]
    )
    by_lane: defaultdict[str | None, list[Cell]] = defaultdict(list)
    for cell in cells:
        by_lane[cell.lane].append(cell)
    strays: defaultdict[str, list[Stray]] = defaultdict(list)
    for stray in left:
        strays[stray.field].append(stray)
    left = []
    for field, mine in strays.items():
        everything = [(delta.event, field, delta.text) for delta in sent[field]]
        left.extend(match_field(by_lane.get(field, []), mine, everything))
    if unstreamed:
        for stray in left:
            stray.text = stray.text.strip("\n")
        left = [stray for stray in left if stray.text]
    return explain(cells, left, reading.tokens.ids)


def _raw_end(reading: ChoiceReading, ending: Ending) -> int:
    """Completions leave out the text of the token that they stop at, unless asked to keep it."""
    ids = reading.tokens.ids
    if not ids or reading.finish_reason != "stop" or ending.included:
        return len(ids)
    return len(ids) - (ids[-1] >= FIRST_SPECIAL or ids[-1] in ending.stop_ids)


def _stopped(reading: ChoiceReading, generated: str, delivered: str, ending: Ending) -> bool:
    """True when the text ends right before a stop string, which servers leave out."""
    if reading.finish_reason != "stop" or ending.included or not generated.startswith(delivered):
        return False
    rest = generated[len(delivered) :]
    return any(rest.startswith(stop) for stop in ending.stops)


def _held_back(spans: Sequence[Sequence[int]], got: str) -> bool:
    """True when all but the token arrived that the end cut off inside a character: servers hold it back."""
    rest = [token_id for span in spans for token_id in span if join_bytes((token_id,))]
    for _ in range(_CHARACTER_AT_MOST):
        if text_of(rest) == text_of(rest, ended=False):
            return False
        rest.pop()
        if text_of(rest) == got:
            return True
    return False


def same_when_joined(texts: Sequence[str], got: str) -> bool:
    """True when `got`, a field of an unstreamed response, has the texts of all its messages.

    vLLM joins messages by line feeds there, and reformats the JSON of a call's arguments.
    """
    if "\n".join([text for text in texts if text]) == got:
        return True
    if len(texts) != 1:
        return False
    try:
        return bool(json.loads(texts[0]) == json.loads(got))
    except (ValueError, RecursionError):
        return False
