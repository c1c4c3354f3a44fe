"""Text around a response: an issue, a terminal, a log. Each block in it goes to the other importers.

Blocks are what fences enclose. In a text without fences, and in a fence whose text is not a file itself,
they are an event stream, JSON values that begin a line, or the raw texts that llama-server logs.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple

from inspector.capture.bounds import CAPTURES, over
from inspector.capture.capture import Capture
from inspector.capture.errors import CaptureError
from inspector.capture.formats import listed
from inspector.files.importers.ids import IDS
from inspector.files.importers.importer import JSON, Content, Importer, read_as

_HEAD: Final = 65536
_FENCE: Final = re.compile(
    r"^(?P<quote>[ \t>]*)(?P<fence>`{3,}|~{3,})[^`\n]*\n(?P<text>.*?)(?:^(?P=quote)(?P=fence)|\Z)",
    re.MULTILINE | re.DOTALL,
)
_STREAM: Final = re.compile(r"^(?:HTTP/[0-9.]+ [0-9]{3}|(?:data|event): ?[\[{a-z])", re.MULTILINE)
_VALUE: Final = re.compile(rf"^[ \t]*(?={JSON.decode()})", re.MULTILINE)
_DAMAGED_AT_MOST: Final = 16
"""Values that may fail to parse: each is read to where it fails."""
_RAW: Final = re.compile(
    r"(?:Parsing chat message|Failed to parse input at pos \d+): (?P<text><\|(?:start|channel)\|>.*?)"
    r"(?:(?P<quoted>\"[,}])|(?=\n(?:srv|slot|que|main|res|common|[a-z_]+:|\[?\d))|\Z)",
    re.DOTALL,
)
"""What llama-server logs of a text that it parses, up to its next line or to the end of a string of JSON."""
_ALONE: Final = re.compile(rf"\s*(?:data:|event:|HTTP/|<\|(?:start|channel)\|>|{JSON.decode()})")
"""How a block begins that is a file by itself."""
_SPECIAL: Final = re.compile(rb"\b20[01][0-9]{3}\b")
"""A special token: numbers without one may be anything."""
_LINES: Final = "Read from {} of a text."
_NOT_READ: Final = "Nothing else was read of it: {} in a form that is not supported."
_NO_STOP_TOKENS: Final = (
    "llama-server does not log the token that ends a turn: nothing follows from its absence."
)


class _Block(NamedTuple):
    """A part of a text, and its lines there."""

    text: str
    first: int
    last: int
    source: str = ""
    """The program whose log it is from."""

    @property
    def place(self) -> str:
        return f"line {self.first:,}" if self.first == self.last else f"lines {self.first:,} to {self.last:,}"


def embedded(rows: Sequence[Importer]) -> Importer:
    """The row of the table that asks other rows about each block of a text."""

    def importer_of(block: _Block, content: Content) -> tuple[Importer, Content] | None:
        inner = content.part(block.text.encode("utf-8", "replace"))
        row = next((row for row in rows if inner.data.strip() and row.sniff(inner)), None)
        if row is None or (row is IDS and _SPECIAL.search(inner.data) is None):
            return None
        return row, inner

    def sniff(content: Content) -> bool:
        if not content.is_text:
            return False
        return any(importer_of(block, content) is not None for block in _blocks(content))

    def read(content: Content) -> list[Capture]:
        captures: list[Capture] = []
        unread: list[_Block] = []
        errors: list[CaptureError] = []
        for block in _blocks(content):
            if (row := importer_of(block, content)) is None:
                unread.append(block)
                continue
            try:
                captures += [_noted(capture, block) for capture in read_as(*row)]
            except CaptureError as error:
                errors.append(error)
                unread.append(block)
            if len(captures) > CAPTURES:
                raise CaptureError(content.name, over(CAPTURES, "responses"))
        if not captures:
            raise errors[0]
        if unread:
            note = _NOT_READ.format(listed([block.place for block in unread[:8]], "and"))
            captures[-1] = replace(captures[-1], notes=(*captures[-1].notes, note))
        return captures

    return Importer(
        name="embedded",
        label="",
        files=(
            "text in which one of the others stands: fenced blocks of an issue, output of `curl -N` in a "
            "terminal, JSON between other lines, the raw texts in llama-server's log"
        ),
        becomes="the same as the block alone; a note says which lines were read",
        suffixes=(".md", ".txt", ".log"),
        sniff=sniff,
        read=read,
    )


def _noted(capture: Capture, block: _Block) -> Capture:
    notes = (*capture.notes, _LINES.format(block.place))
    if not block.source:
        return replace(capture, notes=notes)
    header = replace(capture.header, source=block.source, excerpt=True)
    return replace(capture, header=header, notes=(*notes, _NO_STOP_TOKENS))


def _blocks(content: Content) -> Iterator[_Block]:
    text = content.data.decode("utf-8", "replace")
    fences = list(_FENCE.finditer(text))
    line_ends = _line_ends(text)
    for fence in fences:
        start, end = fence.span("text")
        first, last = _lines(line_ends, start, end)
        inside = fence["text"]
        if quote := fence["quote"]:
            inside = "".join(line.removeprefix(quote) for line in inside.splitlines(keepends=True))
        if _ALONE.match(inside) is None and (parts := list(_parts(inside, first))):
            yield from parts
        else:
            yield _Block(inside, first, last)
    if not fences:
        yield from _parts(text, 1)


def _parts(text: str, first: int) -> Iterator[_Block]:
    """What stands between other lines of a text that begins with the line `first`."""
    line_ends = _line_ends(text)
    if (stream := _STREAM.search(text, 0, _HEAD)) is not None:
        yield _Block(text[stream.start() :], *_lines(line_ends, stream.start(), len(text), first))
        return
    raw_texts = _raw_texts(text)
    for start, end, raw in raw_texts:
        yield _Block(raw, *_lines(line_ends, start, end, first), "llama-server log")
    if not raw_texts and (spans := list(_values(text))):
        place = _lines(line_ends, spans[0][0], spans[-1][1], first)
        yield _Block("\n".join(text[start:end] for start, end in spans), *place)


def _line_ends(text: str) -> list[int]:
    return [end.start() for end in re.finditer("\n", text)]


def _lines(line_ends: Sequence[int], start: int, end: int, first: int = 1) -> tuple[int, int]:
    """The numbers of the lines of a part, where the text begins with the line `first`."""
    return bisect_left(line_ends, start) + first, bisect_left(line_ends, max(end - 1, start)) + first


def _values(text: str) -> Iterator[tuple[int, int]]:
    """Where JSON values begin with their line and end."""
    decode, at, damaged = json.JSONDecoder().raw_decode, 0, 0
    while damaged < _DAMAGED_AT_MOST and (value := _VALUE.search(text, at)) is not None:
        try:
            _, end = decode(text, value.end())
        except (ValueError, RecursionError):
            damaged, at = damaged + 1, value.end() + 1
            continue
        yield value.end(), end
        at = end


def _raw_texts(text: str) -> list[tuple[int, int, str]]:
    """The texts of a log with their places: the last one where the same text was logged as it grew."""
    texts: list[tuple[int, int, str]] = []
    for match in _RAW.finditer(text):
        raw = match["text"].rstrip("\n")
        if match["quoted"]:
            with suppress(ValueError):
                raw = json.loads(f'"{raw}"', strict=False)
        before = texts[-1][2] if texts else ""
        if before and raw in before:
            continue
        if before and raw.startswith(before):
            texts.pop()
        texts.append((*match.span("text"), raw))
    return texts
