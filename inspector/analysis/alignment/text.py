"""Two texts aligned: the pieces that occur in a text in order, and what remains of both.

Knows nothing of fields or events. Work and memory are bounded for all texts.
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
"""The same for tokens; a few seconds at most."""

_TRIES_AT_MOST: Final = 20_000
"""Places between token borders at which a piece may be found before the search at borders is given up."""


_SLIDE_AT_MOST: Final = 1_000
"""Characters by which a surplus is moved to where a piece begins."""


class MatchingBlock(NamedTuple):
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
    """Characters of a piece that do not occur in the text in order."""

    piece: int
    text: str


def embed(text: str, pieces: Sequence[str]) -> list[tuple[int, int]] | None:
    """Places of the pieces in `text`, one after another, each as early as possible.

    None when they do not all occur there in order: an earlier place never rules out a later one.
    """
    places: list[tuple[int, int]] = []
    at = 0
    for piece in pieces:
        start = text.find(piece, at)
        if start < 0:
            return None
        at = start + len(piece)
        places.append((start, at))
    return places


def embed_tokens(text: str, borders: Sequence[int], pieces: Sequence[str]) -> list[tuple[int, int]] | None:
    """Runs of tokens (first, past the last) with the texts of the pieces, in order, as early as possible.

    `borders` are the places where the tokens of `text` begin, and its end. None when the pieces are not all
    there.
    """
    runs: list[tuple[int, int]] = []
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
        runs.append((first, last))
        at = borders[last]
    return runs


def embed_or_align(text: str, pieces: Sequence[str]) -> tuple[list[Gap], list[Rest]]:
    """Gaps of `text` that no piece covers, and what of the pieces does not occur in it in order.

    Where they differ in one place, their common beginning and end show it, however the pieces were cut.
    Else, as servers send whole tokens, pieces are looked for at the borders of tokens that encoding `text`
    gives, and anywhere if they are not all there.
    """
    borders = [0, *accumulate(map(len, texts(encode_plain(text))))]
    if (difference := _one_difference(text, borders, pieces)) is not None:
        return difference
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
    for block in (*token_blocks(text, borders, pieces), MatchingBlock(len(text), len(text), len(joined))):
        if block.start > at:
            gaps.append(Gap(at, block.start, *_around(ends, sent)))
        if block.sent > sent:
            unmatched.append((sent, block.sent))
        at, sent = block.end, block.sent + block.end - block.start
    return gaps, list(_cut(unmatched, pieces, ends))


def _one_difference(
    text: str, borders: Sequence[int], pieces: Sequence[str]
) -> tuple[list[Gap], list[Rest]] | None:
    """The gap and the rest of texts that differ in one place; None where they differ in several."""
    joined = "".join(pieces)
    start = borders[bisect_right(borders, common_prefix(text, joined)) - 1]
    same = common_prefix(text[start:][::-1], joined[start:][::-1])
    end = borders[bisect_left(borders, len(text) - same)]
    sent_end = end + len(joined) - len(text)
    if start < end and start < sent_end:
        return None
    ends = [*accumulate(map(len, pieces))]
    gaps = [Gap(start, end, *_around(ends, start))] if start < end else []
    return gaps, list(_cut([(start, sent_end)], pieces, ends))


def token_blocks(text: str, borders: Sequence[int], pieces: Sequence[str]) -> list[MatchingBlock]:
    """Whole tokens of `text` that occur in the joined pieces, in order.

    Tokens are compared first, the pieces encoded one by one; within what differs then, characters, as
    servers cut pieces where no token of another encoding ends. `borders` are the places of the tokens.
    """
    joined = "".join(pieces)
    sent = [0, *accumulate(len(part) for piece in pieces for part in texts(encode_plain(piece)))]
    generated = [text[start:end] for start, end in pairwise(borders)]
    delivered = [joined[start:end] for start, end in pairwise(sent)]
    if len(generated) * len(delivered) > _TOKEN_CELLS_AT_MOST:
        return list(whole_tokens(blocks(text, joined), borders))
    # `levenshtein` takes more time and, by halving, no more memory than its input.
    small = len(generated) * len(delivered) <= _CELLS_AT_MOST
    codes = lcs(generated, delivered) if small else levenshtein(generated, delivered)
    common: list[MatchingBlock] = []
    at = sent_at = 0
    equal = [code for code in codes if code.tag == "equal"]
    spans = [(code.src_start, code.src_end, code.dest_start, code.dest_end) for code in equal]
    for start, end, first, last in (*spans, (len(generated), len(generated), len(delivered), len(delivered))):
        if start > at and first > sent_at:
            inner = blocks(text[borders[at] : borders[start]], joined[sent[sent_at] : sent[first]])
            moved = (
                MatchingBlock(b.start + borders[at], b.end + borders[at], b.sent + sent[sent_at])
                for b in inner
            )
            common.extend(whole_tokens(moved, borders))
        common.append(MatchingBlock(borders[start], borders[end], sent[first]))
        at, sent_at = end, last
    return _at_pieces(_touching_joined(common), borders, joined, {0, *accumulate(map(len, pieces))})


def _at_pieces(
    common: Sequence[MatchingBlock], borders: Sequence[int], joined: str, starts: Collection[int]
) -> list[MatchingBlock]:
    """The same blocks, moved so that text sent beyond the generated text begins with a piece where possible.

    Of `(1)>(1)>` either half may be the surplus, or the middle; servers repeat whole pieces.
    """
    places = set(borders)
    moved = list(common)
    for number in range(1, len(moved)):
        before, after = moved[number - 1], moved[number]
        begin, end = before.sent + before.end - before.start, after.sent
        if before.end != after.start or begin in starts:
            continue
        for shift in range(1, min(_SLIDE_AT_MOST, before.end - before.start) + 1):
            if joined[begin - shift] != joined[end - shift]:
                break
            if begin - shift in starts and before.end - shift in places:
                moved[number - 1] = MatchingBlock(before.start, before.end - shift, before.sent)
                moved[number] = MatchingBlock(after.start - shift, after.end, after.sent - shift)
                break
    return [block for block in moved if block.start < block.end]


def whole_tokens(common: Iterable[MatchingBlock], borders: Sequence[int]) -> Iterator[MatchingBlock]:
    """Blocks shrunk to token borders of the text; those that hold no whole token are left out."""
    for block in common:
        first = borders[bisect_left(borders, block.start)]
        last = borders[bisect_right(borders, block.end) - 1]
        if first < last:
            yield MatchingBlock(first, last, block.sent + first - block.start)


def blocks(text: str, sent: str) -> list[MatchingBlock]:
    """Common parts of two texts, in order; in texts too long to compare, only the ends."""
    head = common_prefix(text, sent)
    tail = common_prefix(text[head:][::-1], sent[head:][::-1])
    inner, sent_inner = text[head : len(text) - tail], sent[head : len(sent) - tail]
    common = [MatchingBlock(0, head, 0)]
    if inner and sent_inner and len(inner) * len(sent_inner) <= _CELLS_AT_MOST:
        common.extend(
            MatchingBlock(head + code.src_start, head + code.src_end, head + code.dest_start)
            for code in lcs(inner, sent_inner)
            if code.tag == "equal"
        )
    common.append(MatchingBlock(len(text) - tail, len(text), len(sent) - tail))
    return _touching_joined(common)


def _touching_joined(common: Iterable[MatchingBlock]) -> list[MatchingBlock]:
    """The blocks, those that touch on both sides as one; empty ones are left out."""
    merged: list[MatchingBlock] = []
    for block in common:
        last = merged[-1] if merged else None
        if last is not None and last.end == block.start and last.sent + last.end - last.start == block.sent:
            merged[-1] = MatchingBlock(last.start, block.end, last.sent)
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
        at = start
        while at < end:
            first = ends[place] - len(pieces[place])
            border = min(end, ends[place])
            if border > at:
                yield Rest(place, pieces[place][at - first : border - first])
            at, place = border, place + 1
