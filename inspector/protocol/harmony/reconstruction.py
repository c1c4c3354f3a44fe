"""Tokens of an answer that came without ids: its messages encoded again and compared with its counts.

A message is told by its channel, recipient, content type and text. A header can be spelled in several ways; a
count chooses between them, and where several spellings fit, only the ids in which they agree are certain.
Bodies are taken to be sampled as the encoding gives them: a model may spell a text with other tokens; then
the count mostly differs too.

Pure and total; the work grows with the text, and the spellings weighed against each other are bounded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from inspector.protocol.harmony.spelling import (
    HALF,
    Ending,
    Row,
    Spelling,
    Told,
    framing,
    has_unread,
    spellings,
)
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import Marker, is_endless

_OFFSETS_AT_MOST: Final = 128
"""Lengths of the same messages, spelled otherwise, that are kept while a count is looked for."""
_TYPE_OF_ANSWERS: Final = (" <|constrain|>json", " json")
_PYTHON: Final = " to=python code"


class Certainty(StrEnum):
    """How much the counts say of the reconstructed ids."""

    CONFIRMED = "confirmed"
    """One spelling has the number of tokens that the server counted."""
    AMBIGUOUS = "ambiguous"
    """Several have it: ids are certain where they agree."""
    DIFFERS = "differs"
    """None has it: tokens are missing, or too many."""
    UNKNOWN = "unknown"
    """There is no count, or a text that cannot be encoded again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Where one message stands in the ids; half-open."""

    turn: int
    start: int
    body: int
    body_end: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Something that takes exactly the tokens that are missing."""

    what: str
    """Harmony text, or words where the text is not known."""
    message: int | None
    """The message in whose header it would stand; None between messages or after them."""
    untold: bool = False
    """True where an output item leaves out what this is, so that it may well be there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconstruction:
    """Reconstructed ids and what is certain of them."""

    certainty: Certainty
    ids: tuple[int, ...] = ()
    """The likeliest spelling."""
    turns: tuple[int, ...] = ()
    """Where each turn begins; the server's tools stand between two turns."""
    spans: tuple[Span, ...] = ()
    uncertain: tuple[tuple[int, int], ...] = ()
    """Spans of ids in which spellings that fit differ, half-open."""
    ending: Ending = Ending.STOPPED
    counted: int | None = None
    missing: int = 0
    """Tokens that the server counted beyond the ids; negative where it counted fewer."""
    fits: tuple[Fit, ...] = ()
    """What would explain the missing tokens exactly; empty when nothing known does."""

    @property
    def confirmed(self) -> bool:
        """True when the count agrees with the texts: nothing that the model sampled is missing in them."""
        return self.certainty in {Certainty.CONFIRMED, Certainty.AMBIGUOUS}

    def is_certain(self, place: int) -> bool:
        """Whether all spellings that fit have the same id there."""
        return not any(start <= place < end for start, end in self.uncertain)


def reconstruct(
    turns: Sequence[Sequence[Told]],
    *,
    total: int | None,
    per_turn: Sequence[int] | None = None,
    ending: Ending = Ending.STOPPED,
) -> Reconstruction:
    """The ids of an answer's messages, turn by turn, chosen by the server's counts.

    `per_turn` is used where it has a count for each turn and adds up to `total`, else `total` alone.
    """
    return replace(_chosen(turns, total, per_turn, ending), ending=ending)


def _chosen(
    turns: Sequence[Sequence[Told]], total: int | None, per_turn: Sequence[int] | None, ending: Ending
) -> Reconstruction:
    rows = [
        list(spellings(turn, ending if number == len(turns) - 1 else None))
        for number, turn in enumerate(turns)
    ]
    likely = [row[0] for turn in rows for row in turn]
    texts = [one.text for turn in turns for one in turn]
    if total is None or any(has_unread(text) or is_endless(text) for text in texts):
        return _laid(Certainty.UNKNOWN, rows, likely, likely, total)
    by_turn = per_turn is not None and len(per_turn) == len(turns) and sum(per_turn) == total
    groups = rows if by_turn else [[row for turn in rows for row in turn]]
    targets = list(per_turn or ()) if by_turn else [total]
    ways = [_ways(group, target) for group, target in zip(groups, targets, strict=True)]
    found = [way for way in ways if way is not None]
    if len(found) == len(ways):
        viable = [row for way in found for row in way.rows]
        sole = all(len(row) == 1 for row in viable)
        chosen = [one for way in found for one in way.likeliest]
        return _laid(Certainty.CONFIRMED if sole else Certainty.AMBIGUOUS, rows, chosen, viable, total)
    if any(HALF in text for text in texts):  # half a character may have been up to three tokens
        return _laid(Certainty.UNKNOWN, rows, likely, likely, total)
    missing = [
        target - sum(len(row[0]) for row in group) for group, target in zip(groups, targets, strict=True)
    ]
    short = [number for number, count in enumerate(missing) if count]
    fits: tuple[Fit, ...] = ()
    if len(short) == 1 and missing[short[0]] > 0:
        fits = tuple(_fits(turns, short[0] if by_turn else None, missing[short[0]], ending))
    return _laid(Certainty.DIFFERS, rows, likely, likely, total, fits=fits)


@dataclass(frozen=True, slots=True)
class _Ways:
    """The ways to reach a count."""

    rows: list[Row]
    """The spellings that some way takes."""
    likeliest: list[Spelling]


def _ways(group: Sequence[Row], target: int) -> _Ways | None:
    """How spellings of these messages add up to `target` tokens; None when they do not."""
    need = target - sum(len(row[0]) for row in group)
    reached: list[set[int]] = [{0}]
    for row in group:
        ends = {before + _longer(one, row) for before in reached[-1] for one in row}
        reached.append(
            set(sorted(ends, key=abs)[:_OFFSETS_AT_MOST]) if len(ends) > _OFFSETS_AT_MOST else ends
        )
    if need not in reached[-1]:
        return None
    leading: list[set[int]] = [{need}]
    """What each message may start from, last one first, so that the count is met."""
    rows: list[Row] = []
    for row, starts in zip(reversed(group), reversed(reached[:-1]), strict=True):
        ends = leading[-1]
        rows.append(tuple(one for one in row if any(end - _longer(one, row) in starts for end in ends)))
        leading.append({end - _longer(one, row) for end in ends for one in row} & starts)
    rows.reverse()
    leading.reverse()
    likeliest: list[Spelling] = []
    here = 0
    for row, ends in zip(group, leading[1:], strict=True):
        one = next(one for one in row if here + _longer(one, row) in ends)
        here += _longer(one, row)
        likeliest.append(one)
    return _Ways(rows, likeliest)


def _longer(one: Spelling, row: Row) -> int:
    return len(one) - len(row[0])


def _laid(
    certainty: Certainty,
    rows: Sequence[Sequence[Row]],
    chosen: Sequence[Spelling],
    viable: Sequence[Row | Spelling],
    counted: int | None,
    *,
    fits: tuple[Fit, ...] = (),
) -> Reconstruction:
    """The chosen spellings one after the other; `viable` are those that fit as well."""
    ids: list[int] = []
    turns: list[int] = []
    spans: list[Span] = []
    uncertain: list[tuple[int, int]] = []
    place = 0
    for number, turn in enumerate(rows):
        turns.append(len(ids))
        for _ in turn:
            one, others = chosen[place], viable[place]
            place += 1
            start = len(ids)
            for which, part in enumerate(one.parts):
                for other in others if isinstance(others, tuple) else ():
                    uncertain.extend(_differing(part, other.parts[which], len(ids)))
                ids.extend(part)
            end = len(ids)
            body = start + len(one.header)
            spans.append(Span(turn=number, start=start, body=body, body_end=end - len(one.stop), end=end))
    return Reconstruction(
        certainty=certainty,
        ids=tuple(ids),
        turns=tuple(turns),
        spans=tuple(spans),
        uncertain=tuple(_merged(uncertain)),
        counted=counted,
        missing=0 if counted is None else counted - len(ids),
        fits=fits,
    )


def _differing(one: Sequence[int], other: Sequence[int], start: int) -> Iterator[tuple[int, int]]:
    """Where `one`, which starts at `start`, differs from `other`, between what they have in common."""
    if one == other:
        return
    least = min(len(one), len(other))
    head = next((place for place in range(least) if one[place] != other[place]), least)
    tail = next(
        (place for place in range(least - head) if one[-1 - place] != other[-1 - place]), least - head
    )
    if head < len(one) - tail:
        yield start + head, start + len(one) - tail


def _merged(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    last: tuple[int, int] | None = None
    for start, end in sorted(spans):
        if last is not None and start <= last[1]:
            last = (last[0], max(last[1], end))
        else:
            if last is not None:
                yield last
            last = (start, end)
    if last is not None:
        yield last


def _fits(turns: Sequence[Sequence[Told]], turn: int | None, missing: int, ending: Ending) -> Iterator[Fit]:
    """What is known to be swallowed, or left out of what is told, and takes exactly `missing` tokens."""
    places = [(number, told) for number, one in enumerate(turns) for told in one]
    for place, (number, told) in enumerate(places):
        if turn not in (None, number) or told.recipient is not None:
            continue
        kinds = _TYPE_OF_ANSWERS if told.channels[0] in {"final", "commentary"} else ()
        yield from (Fit(what=kind, message=place) for kind in kinds if len(framing(kind)) == missing)
        if told.as_item and missing == len(framing("commentary")) - len(framing("final")):
            yield Fit(what=f"{Marker.CHANNEL.text}commentary", message=place, untold=True)
        if told.as_item and told.channels[0] == "analysis" and missing == len(framing(_PYTHON)):
            yield Fit(what=_PYTHON, message=place, untold=True)
    last = turn is None or turn == len(turns) - 1
    empty = not (turns[-1] if turns else ())
    ended = not empty and (turns[-1][-1].recipient is not None or turns[-1][-1].channels[0] == "final")
    start = "" if empty else f"{Marker.START.text}assistant"
    for channel in ("analysis", "commentary", "final"):
        header = f"{start}{Marker.CHANNEL.text}{channel}"
        if len(framing(f"{header}{Marker.MESSAGE.text}{Marker.END.text}")) == missing:
            yield Fit(what=f"{header}{Marker.MESSAGE.text}{Marker.END.text}", message=None)
        stopped = last and not ended and ending is Ending.STOPPED
        if stopped and len(framing(f"{header}{Marker.RETURN.text}")) == missing:
            yield Fit(what=f"{header}{Marker.RETURN.text}", message=None)
    if last and ending is not Ending.STOPPED and not empty:
        opening = framing(f"{start}{Marker.CHANNEL.text}")
        if missing <= len(opening):
            yield Fit(what=text_of(opening[:missing]), message=None)
    if last and missing == 1 and ending is Ending.STOPPED:
        yield Fit(what=Marker.RETURN.text, message=None)
