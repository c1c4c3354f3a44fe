"""Server-sent events: bytes in, in any pieces; events out. No I/O.

Follows the event stream rules of the WHATWG HTML standard, section 9.2.6: one BOM at the start, lines
that end in CR, LF or CR LF, invalid UTF-8 as U+FFFD, comment lines, one space dropped after the colon,
no event without a `data` line. Two things differ, because a capture keeps evidence: comments are items, and
an event that the stream breaks off is returned as incomplete instead of dropped. IDs and retry times are
ignored: no client of vLLM acts on them.
"""

from typing import Final, NamedTuple

LIMIT_BYTES: Final = 64 * 2**20
"""Longest line, and most characters of one event; what is longer is cut there and not complete."""

_BOM: Final = "\ufeff"


class SseItem(NamedTuple):
    """One event or comment of an event stream."""

    data: str
    """The `data` lines joined by line feeds, or the text of the comment."""
    name: str = ""
    """The `event` field; empty when there was none."""
    comment: bool = False
    complete: bool = True
    """False when no blank line ended the event, or when it was cut at the limit."""


class SseDecoder:
    """Decodes one event stream; time and memory are linear in its bytes, whatever the pieces."""

    def __init__(self, *, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit = limit_bytes
        self._start()

    def _start(self) -> None:
        self._rest = bytearray()  # the line that has not ended, to one byte over the limit
        self._after_cr = False
        self._first = True
        self._name = ""
        self._data: list[str] = []
        self._size = 0
        self._cut = False

    def receive(self, chunk: bytes) -> list[SseItem]:
        """Decode some more bytes; the events and comments that they end."""
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk.startswith(b"\n"):
                chunk = chunk[1:]
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        end = chunk.rfind(b"\n")
        if end < 0:
            self._keep(chunk)
            return []
        whole = chunk[:end]
        if self._rest:
            start = chunk.find(b"\n")
            self._keep(whole[:start])
            whole = bytes(self._rest) + whole[start:]
            self._rest.clear()
        self._keep(chunk[end + 1 :])
        return self._lines(whole)

    def close(self) -> list[SseItem]:
        """End the stream; an unfinished event is returned as incomplete. Ready for another stream then."""
        items = self._lines(bytes(self._rest)) if self._rest else []
        items = [item._replace(complete=False) for item in items]
        if self._data:
            items.append(SseItem("\n".join(self._data), self._name, complete=False))
        self._start()
        return items

    def _keep(self, piece: bytes) -> None:
        self._rest += piece[: max(self._limit + 1 - len(self._rest), 0)]

    def _lines(self, whole: bytes) -> list[SseItem]:
        """Decode lines that have ended; their line feeds between them."""
        if len(whole) <= self._limit:
            lines = whole.decode("utf-8", "replace").split("\n")
            cuts: set[int] = set()
        else:
            raw = whole.split(b"\n")
            cuts = {number for number, line in enumerate(raw) if len(line) > self._limit}
            lines = [line[: self._limit].decode("utf-8", "replace") for line in raw]
        if self._first:
            self._first = False
            lines[0] = lines[0].removeprefix(_BOM)
        items: list[SseItem] = []
        for number, line in enumerate(lines):
            if not line:
                if self._data:
                    items.append(SseItem("\n".join(self._data), self._name, complete=not self._cut))
                    self._data, self._size = [], 0
                self._name, self._cut = "", False
            elif line[0] == ":":
                items.append(SseItem(_value(line, 1), comment=True, complete=number not in cuts))
            else:
                self._field(line, cut=number in cuts)
        return items

    def _field(self, line: str, *, cut: bool) -> None:
        if line.startswith("data:"):
            value = _value(line, 5)
        elif line == "data":
            value = ""
        else:
            if line.startswith("event:"):
                self._name = _value(line, 6)
            elif line == "event":
                self._name = ""
            return
        if self._size + len(value) > self._limit:
            value, cut = value[: max(self._limit - self._size, 0)], True
        self._data.append(value)
        self._size += len(value) + 1
        self._cut = self._cut or cut


def _value(line: str, start: int) -> str:
    return line[start + 1 :] if line.startswith(" ", start) else line[start:]
