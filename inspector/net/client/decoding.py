"""Decodes HTTP content codings for the recording, in steps of bounded size.

A recording must not cost more than its stream does: 1 MiB of gzip can expand to 1 GiB.
"""

import zlib
from collections.abc import Iterator
from typing import Final

READABLE_CODINGS: Final = "gzip, deflate"
"""`Accept-Encoding` of a recorded request: the codings that are decoded here."""

STEP_BYTES: Final = 2**14
"""Bytes per step, at most."""

_GZIP: Final = b"\x1f\x8b"
_PIECE: Final = 2**14  # of the coded bytes: what is not consumed is copied at every step


class Undecodable(Exception):
    """The body cannot be decoded here; the text says why, as a clause."""


class Decoder:
    """Decodes one body; this class passes it on as it is."""

    def receive(self, raw: bytes) -> Iterator[bytes]:
        """The decoded bytes of the next part of the body, in steps; raises Undecodable."""
        for at in range(0, len(raw), STEP_BYTES):
            yield raw[at : at + STEP_BYTES]


class _Deflated(Decoder):
    """gzip, of any number of members, or zlib.

    A body that is not coded although its header says so is passed on as it is: those bytes are the evidence.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        # 32: a gzip or a zlib header, whichever the body has (zlib manual, inflateInit2).
        self._member = zlib.decompressobj(wbits=47)
        self._plain = False
        self._begun = False
        self._ended = False
        self._decoded = 0
        self._next = b""

    def receive(self, raw: bytes) -> Iterator[bytes]:
        if self._plain:
            yield from super().receive(raw)
            return
        for at in range(0, len(raw), _PIECE):
            piece = self._next + raw[at : at + _PIECE]
            self._next = b""
            while piece and not self._ended:
                if (self._member.eof or not self._begun) and len(piece) < len(_GZIP):
                    self._next, piece = piece, b""  # two bytes tell what begins
                    continue
                self._begun = True
                if self._member.eof:
                    if not piece.startswith(_GZIP):
                        self._ended = True  # padding after the last member
                        continue
                    self._member = zlib.decompressobj(wbits=31)
                try:
                    plain = self._member.decompress(piece, STEP_BYTES)
                except zlib.error as error:
                    if self._decoded:
                        raise Undecodable(f"its {self._name} coding is damaged") from error
                    self._plain = True
                    yield from super().receive(piece + raw[at + _PIECE :])
                    return
                self._decoded += len(plain)
                piece = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
                if plain:
                    yield plain


def decoder(coding: str) -> Decoder:
    """A decoder for the value of `content-encoding`; raises Undecodable for an unsupported one."""
    name = coding.strip().lower()
    if name in {"", "identity"}:
        return Decoder()
    if name in {"gzip", "x-gzip", "deflate"}:
        return _Deflated(name)
    raise Undecodable(f"it is coded as {name[:40]!a}")
