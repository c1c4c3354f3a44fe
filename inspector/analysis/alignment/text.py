"""Two texts aligned: the pieces that stand in a text in order, and what is left of both.

Knows nothing of fields or events. Work and memory are bounded whatever the texts are.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from inspector.analysis.alignment.edits import common_prefix, lcs, levenshtein
from inspector.protocol.harmony.text import texts
from inspector.protocol.harmony.vocab import encode_plain

_CELLS_AT_MOST: Final = 200_000_000
"""Product of lengths up to which two texts are compared character by character (a bit a cell)."""


_TOKEN_CELLS_AT_MOST: Final = 3_000_000_000
"""The same for tokens, some seconds at most."""

_TRIES_AT_MOST: Final = 20_000
"""Places between token borders at which a piece is found in vain before that is given up."""


_SLIDE_AT_MOST: Final = 1_000
"""Characters by which a surplus is moved to where a piece begins."""


class Block(NamedTuple):
    """The same characters in the text and in the joined pieces."""

    start: int
    end: int
    sent: int
    """Where it starts in the joined pieces."""


class Gap(NamedTuple):
    """Characters of the text that no piece covers."""

    start: int
    end: int
    before: int | None
    """Number of the piece before it, if that is known."""
    after: int | None


class Rest(NamedTuple):
    """Characters of a piece that do not stand in the text in order."""

    piece: int
    text: str


def embed(text: str, pieces: Sequence[str]) -> list[tuple[int, int]] | None:
    """Places where the pieces stand in `text`, one after another, each as early as it can.

    None when they do not all stand there in order. If any order-keeping places exist, these do.
    """
    places: list[tuple[int, int]] = []
    at = 0
    for piece in pieces:
        found = text.find(piece, at)
        if found < 0:
            return None
        at = found + len(piece)
        places.append((found, at))
    return places


def embed_tokens(text: str, borders: Sequence[int], pieces: Sequence[str]) -> list[tuple[int, int]] | None:
    """Runs of tokens (first, past the last) that read as the pieces, in order and each as early as it can.

    `borders` are the places where the tokens of `text` begin, and its end. None when the pieces are not all
    there.
    """
    found: list[tuple[int, int]] = []
    at = 0
    tries = _TRIES_AT_MOST + len(pieces)
    for piece in pieces:
        while tries and (at := text.find(piece, at)) >= 0:
            tries -= 1
            first, last = bisect_left(borders, at), bisect_left(borders, at + len(piece))
            if borders[first] == at and borders[last] == at + len(piece):
                break
            at += 1
        if at < 0 or not tries:
            return None
        found.append((first, last))
        at = borders[last]
    return found


def embed_or_align(text: str, pieces: Sequence[str]) -> tuple[list[Gap], list[Rest]]:
    """Gaps of `text` that no piece covers, and what of the pieces does not stand in it in order.

    Servers send whole tokens, so pieces are looked for at the borders of the tokens that encoding `text`
    gives, and anywhere if they are not all there.
    """
    borders = [0, *accumulate(map(len, texts(encode_plain(text))))]
    runs = embed_tokens(text, borders, pieces)
    places = embed(text, pieces) if runs is None else [(borders[a], borders[b]) for a, b in runs]
    gaps: list[Gap] = []
    at = 0
    if places is not None:
        for number, (start, end) in enumerate(places):
            if start > at:
                gaps.append(Gap(at, start, number - 1 if number else None, number))
            at = end
        if at < len(text):
            gaps.append(Gap(at, len(text), len(pieces) - 1 if pieces else None, None))
        return gaps, []
    joined = "".join(pieces)
    ends = [*accumulate(map(len, pieces))]
    unmatched: list[tuple[int, int]] = []
    sent = 0
    for block in (*token_blocks(text, borders, pieces), Block(len(text), len(text), len(joined))):
        if block.start > at:
            gaps.append(Gap(at, block.start, *_around(ends, sent)))
        if block.sent > sent:
            unmatched.append((sent, block.sent))
        at, sent = block.end, block.sent + block.end - block.start
    return gaps, list(_cut(unmatched, pieces, ends))


def token_blocks(text: str, borders: Sequence[int], pieces: Sequence[str]) -> list[Block]:
    """Whole tokens of `text` that stand in the joined pieces, in order.

    Tokens are compared first, the pieces encoded one by one; within what differs then, characters, as
    servers cut pieces where no token of another encoding ends. `borders` are the places of the tokens.
    """
    joined = "".join(pieces)
    sent = [0, *accumulate(len(part) for piece in pieces for part in texts(encode_plain(piece)))]
    mine = [text[start:end] for start, end in pairwise(borders)]
    theirs = [joined[start:end] for start, end in pairwise(sent)]
    if len(mine) * len(theirs) > _TOKEN_CELLS_AT_MOST:
        return list(whole_tokens(blocks(text, joined), borders))
    # `levenshtein` takes more time and, by halving, no more memory than its input.
    small = len(mine) * len(theirs) <= _CELLS_AT_MOST
    codes = lcs(mine, theirs) if small else levenshtein(mine, theirs)
    found: list[Block] = []
    at = seen = 0
    equal = [code for code in codes if code.tag == "equal"]
    spans = [(code.src_start, code.src_end, code.dest_start, code.dest_end) for code in equal]
    for start, end, first, last in (*spans, (len(mine), len(mine), len(theirs), len(theirs))):
        if start > at and first > seen:
            inner = blocks(text[borders[at] : borders[start]], joined[sent[seen] : sent[first]])
            moved = (Block(b.start + borders[at], b.end + borders[at], b.sent + sent[seen]) for b in inner)
            found.extend(whole_tokens(moved, borders))
        found.append(Block(borders[start], borders[end], sent[first]))
        at, seen = end, last
    return _at_pieces(_side_by_side(found), borders, joined, {0, *accumulate(map(len, pieces))})


def _at_pieces(
    found: list[Block], borders: Sequence[int], joined: str, starts: Collection[int]
) -> list[Block]:
    """The same blocks, where what was sent beyond the text begins with a piece if it can.

    Of `(1)>(1)>` either half may be the surplus, and what stands between as well; servers repeat pieces.
    """
    places = set(borders)
    for number in range(1, len(found)):
        before, after = found[number - 1], found[number]
        begin, end = before.sent + before.end - before.start, after.sent
        if before.end != after.start or begin in starts:
            continue
        for shift in range(1, min(_SLIDE_AT_MOST, before.end - before.start) + 1):
            if joined[begin - shift] != joined[end - shift]:
                break
            if begin - shift in starts and before.end - shift in places:
                found[number - 1] = Block(before.start, before.end - shift, before.sent)
                found[number] = Block(after.start - shift, after.end, after.sent - shift)
                break
    return [block for block in found if block.start < block.end]


def whole_tokens(found: Iterable[Block], borders: Sequence[int]) -> Iterator[Block]:
    """Blocks shrunk to token borders of the text; those that hold no whole token are left out."""
    for block in found:
        first = borders[bisect_left(borders, block.start)]
        last = borders[bisect_right(borders, block.end) - 1]
        if first < last:
            yield Block(first, last, block.sent + first - block.start)


def blocks(text: str, sent: str) -> list[Block]:
    """Common parts of two texts, in order; in texts too long to compare, only the ends."""
    head = common_prefix(text, sent)
    tail = common_prefix(text[head:][::-1], sent[head:][::-1])
    inner, other = text[head : len(text) - tail], sent[head : len(sent) - tail]
    found = [Block(0, head, 0)]
    if inner and other and len(inner) * len(other) <= _CELLS_AT_MOST:
        found.extend(
            Block(head + code.src_start, head + code.src_end, head + code.dest_start)
            for code in lcs(inner, other)
            if code.tag == "equal"
        )
    found.append(Block(len(text) - tail, len(text), len(sent) - tail))
    return _side_by_side(found)


def _side_by_side(found: Iterable[Block]) -> list[Block]:
    """Blocks that touch on both sides, as one; empty ones are left out."""
    merged: list[Block] = []
    for block in found:
        last = merged[-1] if merged else None
        if last is not None and last.end == block.start and last.sent + last.end - last.start == block.sent:
            merged[-1] = Block(last.start, block.end, last.sent)
        elif block.start < block.end:
            merged.append(block)
    return merged


def _around(ends: Sequence[int], sent: int) -> tuple[int | None, int | None]:
    """The pieces before and after a place in the joined pieces."""
    after = bisect_right(ends, sent)
    before = bisect_right(ends, sent - 1) if sent else None
    return before, after if after < len(ends) else None


def _cut(spans: Sequence[tuple[int, int]], pieces: Sequence[str], ends: Sequence[int]) -> Iterator[Rest]:
    """Spans of the joined pieces, cut at the pieces' borders."""
    for start, end in spans:
        place = bisect_right(ends, start)
        here = start
        while here < end:
            first = ends[place] - len(pieces[place])
            border = min(end, ends[place])
            if border > here:
                yield Rest(place, pieces[place][here - first : border - first])
            here, place = border, place + 1
