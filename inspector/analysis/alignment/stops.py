"""Where the text of a response ends: before a stop string, and before the token that it stopped at."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from inspector.analysis.alignment.cells import FIRST_SPECIAL

_PLACES_AT_MOST: Final = 64
"""Places of one stop string that are tried; a text that repeats the string has any number."""
_BY_ITSELF: Final = (None, "stop")
"""Finish reasons of a response that may have stopped at a string; None where the stream has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopOptions:
    """What of a request decides where its text ends."""

    strings: tuple[str, ...] = ()
    token_ids: frozenset[int] = frozenset()
    """Stop tokens beyond the model's own."""
    included: bool = False
    """True when the text keeps what it stopped at (`include_stop_str_in_output`)."""

    def string_in(self, text: str, delivered: str, finish_reason: str | None) -> tuple[int, str] | None:
        """Where in the last text a stop string is at which it ends, as OpenAI's API says, and which.

        Of several places the one with the text before it at the end of `delivered`, else the first.
        """
        if self.included or finish_reason not in _BY_ITSELF:
            return None
        places = sorted((place, string) for string in self.strings for place in _places(text, string))
        at_the_end = (stop for stop in places if delivered.endswith(text[: stop[0]]))
        return next(at_the_end, places[0] if places else None)

    def is_left_out(self, ids: Sequence[int], finish_reason: str | None) -> bool:
        """Whether the last token may be the one it stopped at, which servers leave out."""
        if not ids or self.included or finish_reason not in _BY_ITSELF:
            return False
        return ids[-1] >= FIRST_SPECIAL or ids[-1] in self.token_ids


def _places(text: str, string: str) -> Iterator[int]:
    place = text.find(string)
    for _ in range(_PLACES_AT_MOST):
        if place < 0:
            return
        yield place
        place = text.find(string, place + 1)
