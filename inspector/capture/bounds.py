"""How much of one file or response is read, as counts, so that every machine reads the same.

A file of a few KiB can unpack to millions of lines, events or numbers, each of which costs far more than
its bytes. The bounds lie well above what gpt-oss can send: a response has at most 131,072 tokens.
"""

from typing import Final

EVENTS: Final = 1_000_000
"""Events of one response."""

LINES: Final = 5_000_000
"""Lines of one event stream or capture file; an event has two or three."""

CAPTURES: Final = 10_000
"""Captures of one file."""

RECORDED_BYTES: Final = 480 * 2**20
"""Bytes of one response that are recorded, as its file holds them; the largest file that is read has more."""

TOKENS: Final = 1_000_000
"""Token IDs of one completion."""

FINDINGS: Final = 5_000
"""Findings of one response that are listed; the verdict counts all."""


def over(bound: int, what: str) -> str:
    """Why a file is rejected."""
    return f"has more than {bound:,} {what}, the most that is read; keep only the request you need"
