"""The token IDs of a response that came without them: its messages encoded again, checked by token counts.

The problem
-----------
The final object of a Responses stream has the texts of the messages and how many tokens the server counted,
but no IDs. Encoding a message again is not enough: the same message can be spelled in several ways. The
recipient stands before or after the channel, a content type has a space before it or not, the token limit has
cut off the stop token or not. `spelling` lists these spellings; each message has a row of them, likeliest
first.

The solver
----------
One spelling has to be picked from each row so that their lengths add up to the count. This is a subset sum:
with the likeliest spellings as the starting point, every other spelling adds an *offset* (its length minus
that of the likeliest), and the offsets must add up to the count minus the length of the starting point.
`_solve` finds not one solution but all of them, by dynamic programming in two passes:

    forward    the sums of offsets that the messages so far can reach, message by message, from 0
    backward   of those, the sums from which the rest can still reach the required sum, from the end

A spelling is *viable* if it leads from a sum that remains before its message to one that remains after it.
So:

    one viable spelling in each row    CONFIRMED   the count leaves no other choice
    several in some row                AMBIGUOUS   an ID is certain where all viable spellings have it
    no solution                        DIFFERS     tokens are missing (`_fits` names candidates), or too many
    no count, or a text whose tokens   UNKNOWN
    cannot be determined

Of several solutions the likeliest is the one that takes the first viable spelling of each row, from the
start. If the server counted each turn, each turn is solved by itself, else all turns together.

Assumptions
-----------
Bodies are taken to be sampled as the encoding spells them. A model may spell a text with other tokens; then
the count mostly differs too.

The work grows with the text: at most `_OFFSETS_AT_MOST` sums are kept per message, those nearest to the
likeliest.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, islice
from typing import Final, NamedTuple

from inspector.protocol.harmony.spelling import (
    HALF,
    ReportedMessage,
    Row,
    Spelling,
    TurnEnd,
    framing,
    has_unread,
    spellings,
)
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import Marker, is_endless

_OFFSETS_AT_MOST: Final = 128
"""Sums of offsets that are kept after each message."""
_CONTENT_TYPES: Final = (" <|constrain|>json", " json")
"""Content types that servers omit from the messages that they report."""
_PYTHON: Final = " to=python code"
_CHANNELS: Final = ("analysis", "commentary", "final")


class Certainty(StrEnum):
    """What the counts say about the reconstructed IDs."""

    CONFIRMED = "confirmed"
    """One spelling has the number of tokens that the server counted."""
    AMBIGUOUS = "ambiguous"
    """Several have it: IDs are certain where they agree."""
    DIFFERS = "differs"
    """None has it: tokens are missing, or too many."""
    UNKNOWN = "unknown"
    """The response has no token count, or a text that cannot be encoded again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Where one message stands in the IDs; half-open."""

    turn: int
    start: int
    body: int
    body_end: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Something that takes exactly the tokens that are missing."""

    what: str
    """Harmony text."""
    message: int | None
    """The message in whose header it would stand; None between messages or after them."""
    untold: bool = False
    """True where output items leave this out, so that it may well have been sampled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconstruction:
    """Reconstructed IDs and how certain they are."""

    certainty: Certainty
    ids: tuple[int, ...] = ()
    """The likeliest spelling."""
    turns: tuple[int, ...] = ()
    """Where each turn begins; the server's tools stand between two turns."""
    spans: tuple[Span, ...] = ()
    uncertain: tuple[tuple[int, int], ...] = ()
    """Spans of IDs in which viable spellings differ, half-open."""
    ending: TurnEnd = TurnEnd.STOPPED
    counted: int | None = None
    missing: int = 0
    """Tokens that the server counted beyond the IDs; negative where it counted fewer."""
    fits: tuple[Fit, ...] = ()
    """What would explain the missing tokens exactly; empty when nothing known does."""

    @property
    def confirmed(self) -> bool:
        """True when the count agrees with the texts: nothing that the model sampled is missing in them."""
        return self.certainty in {Certainty.CONFIRMED, Certainty.AMBIGUOUS}

    def is_certain(self, place: int) -> bool:
        """Whether all viable spellings have the same ID there."""
        return not any(start <= place < end for start, end in self.uncertain)


class _Group(NamedTuple):
    """Messages whose tokens the server counted together: one turn, or all of them."""

    turn: int | None
    """Number of the turn; None for all turns together."""
    rows: Sequence[Row]
    counted: int

    @property
    def missing(self) -> int:
        """Tokens that the server counted beyond the likeliest spellings."""
        return self.counted - sum(len(row[0]) for row in self.rows)


class _Solution(NamedTuple):
    """All ways to spell the messages of a group in as many tokens as the server counted."""

    viable: Sequence[Row]
    """Of each row, the spellings that some way takes."""
    likeliest: Sequence[Spelling]
    """The likeliest way."""


def reconstruct(
    turns: Sequence[Sequence[ReportedMessage]],
    *,
    total: int | None,
    per_turn: Sequence[int] | None = None,
    ending: TurnEnd = TurnEnd.STOPPED,
) -> Reconstruction:
    """The IDs of a response's messages, turn by turn, chosen by the server's counts.

    `per_turn` is used where it has a count for each turn and adds up to `total`, else `total` alone.
    """
    rows = [
        list(spellings(turn, ending if number == len(turns) - 1 else None))
        for number, turn in enumerate(turns)
    ]
    likely = [row[0] for turn in rows for row in turn]
    unsolved = _Solution([(spelling,) for spelling in likely], likely)
    texts = [message.text for turn in turns for message in turn]
    if total is None or any(has_unread(text) or is_endless(text) for text in texts):
        return _laid_out(Certainty.UNKNOWN, rows, unsolved, total, ending=ending)
    groups = _groups(rows, total, per_turn)
    solutions = [solution for group in groups if (solution := _solve(group)) is not None]
    if len(solutions) == len(groups):
        joined = _Solution(
            [row for solution in solutions for row in solution.viable],
            [spelling for solution in solutions for spelling in solution.likeliest],
        )
        sole = all(len(row) == 1 for row in joined.viable)
        return _laid_out(
            Certainty.CONFIRMED if sole else Certainty.AMBIGUOUS, rows, joined, total, ending=ending
        )
    if any(HALF in text for text in texts):  # half a character may have been up to three tokens
        return _laid_out(Certainty.UNKNOWN, rows, unsolved, total, ending=ending)
    differing = [group for group in groups if group.missing]
    fits = tuple(_fits(turns, differing[0], ending)) if len(differing) == 1 else ()
    return _laid_out(Certainty.DIFFERS, rows, unsolved, total, ending=ending, fits=fits)


def _groups(rows: Sequence[Sequence[Row]], total: int, per_turn: Sequence[int] | None) -> list[_Group]:
    if per_turn is not None and len(per_turn) == len(rows) and sum(per_turn) == total:
        return [_Group(turn, rows[turn], counted) for turn, counted in enumerate(per_turn)]
    return [_Group(None, [row for turn in rows for row in turn], total)]


def _solve(group: _Group) -> _Solution | None:
    """All ways to spell the messages in `group.counted` tokens; None when there is none."""
    reachable: list[set[int]] = [{0}]
    """Before each message and after the last: the sums of offsets that the messages so far reach."""
    for row in group.rows:
        sums = {before + _offset(spelling, row) for before in reachable[-1] for spelling in row}
        reachable.append(_nearest(sums))
    if group.missing not in reachable[-1]:
        return None
    leading: list[set[int]] = [{group.missing}]
    """The same sums as far as they lead to the count; from the end on, then reversed."""
    for row, sums in zip(reversed(group.rows), reversed(reachable[:-1]), strict=True):
        leading.append({after - _offset(spelling, row) for after in leading[-1] for spelling in row} & sums)
    leading.reverse()
    viable: list[Row] = []
    likeliest: list[Spelling] = []
    reached = 0
    for row, before, after in zip(group.rows, reachable, leading[1:], strict=False):
        viable.append(
            tuple(
                spelling
                for spelling in row
                if any(offset - _offset(spelling, row) in before for offset in after)
            )
        )
        first = next(spelling for spelling in row if reached + _offset(spelling, row) in after)
        likeliest.append(first)
        reached += _offset(first, row)
    return _Solution(viable, likeliest)


def _offset(spelling: Spelling, row: Row) -> int:
    return len(spelling) - len(row[0])


def _nearest(offsets: set[int]) -> set[int]:
    if len(offsets) <= _OFFSETS_AT_MOST:
        return offsets
    return set(sorted(offsets, key=abs)[:_OFFSETS_AT_MOST])


def _laid_out(
    certainty: Certainty,
    rows: Sequence[Sequence[Row]],
    solution: _Solution,
    counted: int | None,
    *,
    ending: TurnEnd,
    fits: tuple[Fit, ...] = (),
) -> Reconstruction:
    """The likeliest spellings of all turns, one after another."""
    ids: list[int] = []
    turns: list[int] = []
    spans: list[Span] = []
    uncertain: list[tuple[int, int]] = []
    messages = zip(solution.likeliest, solution.viable, strict=True)
    for number, turn in enumerate(rows):
        turns.append(len(ids))
        for spelling, viable in islice(messages, len(turn)):
            start, end = len(ids), len(ids) + len(spelling)
            uncertain.extend(_uncertain(spelling, viable, start))
            ids.extend(chain.from_iterable(spelling.parts))
            body, body_end = start + len(spelling.header), end - len(spelling.stop)
            spans.append(Span(turn=number, start=start, body=body, body_end=body_end, end=end))
    return Reconstruction(
        certainty=certainty,
        ids=tuple(ids),
        turns=tuple(turns),
        spans=tuple(spans),
        uncertain=tuple(_merged(uncertain)),
        ending=ending,
        counted=counted,
        missing=0 if counted is None else counted - len(ids),
        fits=fits,
    )


def _uncertain(spelling: Spelling, viable: Row, start: int) -> Iterator[tuple[int, int]]:
    """Where `spelling`, which starts at `start`, differs from other viable ones, part by part."""
    for number, part in enumerate(spelling.parts):
        for alternative in viable:
            yield from _differing(part, alternative.parts[number], start)
        start += len(part)


def _differing(a: Sequence[int], b: Sequence[int], start: int) -> Iterator[tuple[int, int]]:
    """The span of `a`, which starts at `start`, between what it has in common with `b` at both ends."""
    if a == b:
        return
    least = min(len(a), len(b))
    head = next((place for place in range(least) if a[place] != b[place]), least)
    tail = next((place for place in range(least - head) if a[-1 - place] != b[-1 - place]), least - head)
    if head < len(a) - tail:
        yield start + head, start + len(a) - tail


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged


def _fits(turns: Sequence[Sequence[ReportedMessage]], group: _Group, ending: TurnEnd) -> Iterator[Fit]:
    """What takes exactly the missing tokens, of all that servers are known to swallow or not to report.

    In a header: a content type, another channel, a recipient. Between messages: a message without text. Where
    the response ends: a header that a stop token or the token limit cut off, or a stop token.
    """
    if group.missing <= 0:
        return
    is_last = group.turn is None or group.turn == len(turns) - 1
    candidates = chain(
        _of_headers(turns, group.turn),
        _of_messages(turns, ends=is_last and ending is TurnEnd.STOPPED),
        _of_end(turns, ending, group.missing) if is_last else (),
    )
    yield from (fit for size, fit in candidates if size == group.missing)


def _of_headers(turns: Sequence[Sequence[ReportedMessage]], turn: int | None) -> Iterator[tuple[int, Fit]]:
    """What a header may have had beyond what is reported, with its tokens."""
    messages = [(number, message) for number, messages in enumerate(turns) for message in messages]
    for place, (number, message) in enumerate(messages):
        if turn not in (None, number) or message.recipient is not None:
            continue
        if message.channels[0] in {"final", "commentary"}:
            for content_type in _CONTENT_TYPES:
                yield len(framing(content_type)), Fit(what=content_type, message=place)
        if message.as_item:
            more = len(framing("commentary")) - len(framing("final"))
            yield more, Fit(what=f"{Marker.CHANNEL.text}commentary", message=place, untold=True)
        if message.as_item and message.channels[0] == "analysis":
            yield len(framing(_PYTHON)), Fit(what=_PYTHON, message=place, untold=True)


def _of_messages(turns: Sequence[Sequence[ReportedMessage]], *, ends: bool) -> Iterator[tuple[int, Fit]]:
    """Messages without text; where the response `ends` after them, also headers that `<|return|>` cut off."""
    last = turns[-1][-1] if turns and turns[-1] else None
    ended = last is not None and (last.recipient is not None or last.channels[0] == "final")
    for channel in _CHANNELS:
        header = f"{_start_after(last)}{Marker.CHANNEL.text}{channel}"
        texts = [f"{header}{Marker.MESSAGE.text}{Marker.END.text}"]
        if ends and not ended:
            texts.append(f"{header}{Marker.RETURN.text}")
        for text in texts:
            yield len(framing(text)), Fit(what=text, message=None)


def _of_end(
    turns: Sequence[Sequence[ReportedMessage]], ending: TurnEnd, missing: int
) -> Iterator[tuple[int, Fit]]:
    """How the response may have ended after the last message."""
    last = turns[-1][-1] if turns and turns[-1] else None
    if ending is TurnEnd.STOPPED:
        yield 1, Fit(what=Marker.RETURN.text, message=None)
    elif last is not None:
        opening = framing(f"{_start_after(last)}{Marker.CHANNEL.text}")[:missing]
        yield len(opening), Fit(what=text_of(opening), message=None)


def _start_after(last: ReportedMessage | None) -> str:
    """How a header begins: the prompt has begun that of the first message."""
    return "" if last is None else f"{Marker.START.text}assistant"
