"""Tokens of an answer that came without ids: its messages encoded again and held against its counts.

A message is told by its channel, recipient, content type and text. A header can be spelled in several ways; a
count chooses between them, and where several spellings fit, only the ids in which they agree are certain.
Bodies are taken to be sampled as the encoding gives them: a model may spell a text with other tokens; then
the count mostly differs too.

Pure and total; the work grows with the text, and the spellings weighed against each other are bounded.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from typing import Final

from inspector.harmony.text import text_of
from inspector.harmony.vocab import Marker, encode, encode_plain

__all__ = [
    "Certainty",
    "Ending",
    "Fit",
    "Reconstruction",
    "Span",
    "Told",
    "reconstruct",
]

_OFFSETS_AT_MOST: Final = 128
"""Lengths of the same messages, spelled otherwise, that are kept while a count is looked for."""
_GARBLED: Final = "\ufffd"
_TYPE_OF_ANSWERS: Final = (" <|constrain|>json", " json")
_PYTHON: Final = " to=python code"
_END_OF_TEXT: Final = "<|endoftext|>"
_MARKER: Final = re.compile(
    f"({'|'.join(re.escape(text) for text in (*(marker.text for marker in Marker), _END_OF_TEXT))})"
)


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


class Ending(StrEnum):
    """How the last message ended."""

    STOPPED = "stopped"
    """A stop token was sampled."""
    CUT = "cut"
    """The token limit ended it."""
    EITHER = "either"
    """The server used all of its limit and does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One message as the server told it."""

    text: str
    channels: tuple[str | None, ...]
    """What its channel may be, likeliest first; one when it is told."""
    recipient: str | None = None
    content_types: tuple[str, ...] = ("",)
    """What may stand in the header after the recipient, with its space, likeliest first."""
    role: str = "assistant"
    as_item: bool = False
    """Told by an output item, which leaves out the header: channel and recipient are guessed."""
    raw: bool = False
    """The text may be tokens that never became a message, markers and all (vLLM from 0.27)."""


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


@dataclass(frozen=True, slots=True)
class _Spelling:
    """One way to spell a message."""

    header: tuple[int, ...]
    body: tuple[int, ...]
    stop: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.header) + len(self.body) + len(self.stop)

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Header, body and stop token; what the comparison of two spellings goes by."""
        return self.header, self.body, self.stop


_Row = tuple[_Spelling, ...]
"""All spellings of one message, likeliest first."""


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
        list(_rows(turn, ending if number == len(turns) - 1 else None)) for number, turn in enumerate(turns)
    ]
    likely = [row[0] for turn in rows for row in turn]
    if total is None or any(_GARBLED in one.text for turn in turns for one in turn):
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
    missing = [
        target - sum(len(row[0]) for row in group) for group, target in zip(groups, targets, strict=True)
    ]
    short = [number for number, count in enumerate(missing) if count]
    fits: tuple[Fit, ...] = ()
    if len(short) == 1 and missing[short[0]] > 0:
        fits = tuple(_fits(turns, short[0] if by_turn else None, missing[short[0]], ending))
    return _laid(Certainty.DIFFERS, rows, likely, likely, total, fits=fits)


def _rows(turn: Sequence[Told], ending: Ending | None) -> Iterator[_Row]:
    """Spellings of each message of a turn; `ending` is that of the last turn, None for another."""
    for place, told in enumerate(turn):
        last = place == len(turn) - 1
        yield tuple(dict.fromkeys(_spellings(told, first=place == 0, last=last, ending=ending)))


def _spellings(told: Told, *, first: bool, last: bool, ending: Ending | None) -> Iterator[_Spelling]:
    bodies = [tuple(encode_plain(told.text))]
    if _MARKER.search(told.text) is not None:
        pieces = [tuple(encode_plain(piece)) for piece in _MARKER.split(told.text)]
        bodies += [tuple(chain.from_iterable(pieces)), tuple(encode(told.text))]
    stops = list(_stops(told, last=last, ending=ending))
    if last and told.text.endswith(_END_OF_TEXT):
        stops.append(())  # it stopped the model, and stands in the text
    for header in _headers(told):
        opening = _header(header if first else f"<|start|>{told.role}{header}")
        for body in bodies:
            for stop in stops:
                yield _Spelling(opening, body, stop)
    if told.raw and last and len(bodies) > 1:
        opened = first or told.text.startswith(Marker.START.text)
        yield _Spelling(() if opened else _header(f"<|start|>{told.role}"), bodies[-1], ())


def _headers(told: Told) -> Iterator[str]:
    """The header's spellings after the role, likeliest first."""
    recipient = told.recipient
    for channel in told.channels:
        where = "" if channel is None else f"{Marker.CHANNEL.text}{channel}"
        for kind in told.content_types:
            end = f"{kind}{Marker.MESSAGE.text}"
            if recipient is None:
                yield f"{where}{end}"
            elif recipient.startswith("<|"):
                # The Harmony library reads a content type, or a second channel, as a recipient.
                if recipient.startswith(Marker.START.text):
                    yield f"{recipient}{where}{end}"
                yield f"{where} {recipient}{end}"
                yield f"{where}{recipient}{end}"
            else:
                yield f"{where} to={recipient}{end}"
                if channel is not None:
                    yield f" to={recipient}{where}{end}"


def _stops(told: Told, *, last: bool, ending: Ending | None) -> Iterator[tuple[int, ...]]:
    if not last:
        yield (Marker.END,)
    elif ending is None:
        yield (Marker.CALL,)  # the server ran a tool
    else:
        if ending is not Ending.CUT:
            to = told.recipient
            called = to is not None and (not to.startswith("<|") or "functions." in to)
            yield (Marker.CALL if called else Marker.RETURN,)
        if ending is not Ending.STOPPED:
            yield ()
            yield (Marker.END,)


@lru_cache(maxsize=1024)
def _header(text: str) -> tuple[int, ...]:
    return tuple(encode(text))


@dataclass(frozen=True, slots=True)
class _Ways:
    """The ways to reach a count."""

    rows: list[_Row]
    """The spellings that some way takes."""
    likeliest: list[_Spelling]


def _ways(group: Sequence[_Row], target: int) -> _Ways | None:
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
    rows: list[_Row] = []
    for row, starts in zip(reversed(group), reversed(reached[:-1]), strict=True):
        ends = leading[-1]
        rows.append(tuple(one for one in row if any(end - _longer(one, row) in starts for end in ends)))
        leading.append({end - _longer(one, row) for end in ends for one in row} & starts)
    rows.reverse()
    leading.reverse()
    likeliest: list[_Spelling] = []
    here = 0
    for row, ends in zip(group, leading[1:], strict=True):
        one = next(one for one in row if here + _longer(one, row) in ends)
        here += _longer(one, row)
        likeliest.append(one)
    return _Ways(rows, likeliest)


def _longer(one: _Spelling, row: _Row) -> int:
    return len(one) - len(row[0])


def _laid(
    certainty: Certainty,
    rows: Sequence[Sequence[_Row]],
    chosen: Sequence[_Spelling],
    viable: Sequence[_Row | _Spelling],
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
        yield from (Fit(what=kind, message=place) for kind in kinds if len(_header(kind)) == missing)
        if told.as_item and missing == len(_header("commentary")) - len(_header("final")):
            yield Fit(what=f"{Marker.CHANNEL.text}commentary", message=place, untold=True)
        if told.as_item and told.channels[0] == "analysis" and missing == len(_header(_PYTHON)):
            yield Fit(what=_PYTHON, message=place, untold=True)
    last = turn is None or turn == len(turns) - 1
    empty = not (turns[-1] if turns else ())
    ended = not empty and (turns[-1][-1].recipient is not None or turns[-1][-1].channels[0] == "final")
    start = "" if empty else f"{Marker.START.text}assistant"
    for channel in ("analysis", "commentary", "final"):
        header = f"{start}{Marker.CHANNEL.text}{channel}"
        if len(_header(f"{header}{Marker.MESSAGE.text}{Marker.END.text}")) == missing:
            yield Fit(what=f"{header}{Marker.MESSAGE.text}{Marker.END.text}", message=None)
        stopped = last and not ended and ending is Ending.STOPPED
        if stopped and len(_header(f"{header}{Marker.RETURN.text}")) == missing:
            yield Fit(what=f"{header}{Marker.RETURN.text}", message=None)
    if last and ending is not Ending.STOPPED and not empty:
        opening = _header(f"{start}{Marker.CHANNEL.text}")
        if missing <= len(opening):
            yield Fit(what=text_of(opening[:missing]), message=None)
    if last and missing == 1 and ending is Ending.STOPPED:
        yield Fit(what=Marker.RETURN.text, message=None)
