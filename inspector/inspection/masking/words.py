"""What a server says in its own words: published phrases stay, all else is replaced."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from inspector.inspection.masking.forms import FIRST_SPECIAL
from inspector.inspection.masking.pieces import MaskedTexts
from inspector.inspection.masking.standins import Standins
from inspector.inspection.masking.vocabulary import GRAMMAR, PHRASES
from inspector.issues.catalogue.schema import Pattern
from inspector.issues.catalogue.table import catalogue

_QUOTED: Final = re.compile(r"(Unknown role: |unexpected tokens remaining in message header: )([^\n]+)")
_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)+)"')
_SOME_CALL: Final = re.compile(r"Some(?=\()")
"""How Rust's Debug prints that there is a string."""
_NUMBER: Final = re.compile(r"\d{1,6}(?!\d)")
_PART: Final = re.compile(r"\w+|\W+")
_PARTS_AT_MOST: Final = 400
"""Words of a message that are tried one by one; in a longer one no known issue is recognized."""


@cache
def _patterns() -> Sequence[Pattern]:
    """What known issues are recognized by in a server's words."""
    return [pattern for issue in catalogue() for pattern in (*issue.patterns, *issue.may_match)]


class Words:
    """Error messages, comments and notes without what they quote."""

    def __init__(self, masked_texts: MaskedTexts, standins: Standins) -> None:
        self._known = masked_texts
        self._standins = standins
        self._masked: dict[str, str] = {}

    def masked(self, text: str) -> str:
        """The words without all that no published phrase has, and no known issue is recognized by."""
        if text not in self._masked:
            self._masked[text] = self._replaced(text)
        return self._masked[text]

    def _replaced(self, text: str) -> str:
        parts = list(self._parts(text))
        originals, standins = [part for part, _ in parts], [standin for _, standin in parts]
        plain = "".join(originals)
        expressions = [
            pattern.expression
            for pattern in _patterns()
            if pattern.literal in text
            and pattern.expression.search(text)
            and pattern.expression.search(plain)
        ]

        def still_matches(place: int, part: str) -> bool:
            tried = "".join([*standins[:place], part, *originals[place + 1 :]])
            return all(expression.search(tried) for expression in expressions)

        if still_matches(len(parts), "") or len(parts) > _PARTS_AT_MOST:
            return "".join(standins)
        for place, (part, standin) in enumerate(parts):
            ends = range(len(part) + 1)
            start = max(end for end in ends if still_matches(place, standin[:end] + part[end:]))
            stop = min(
                end
                for end in ends[start:]
                if still_matches(place, standin[:start] + part[start:end] + standin[end:])
            )
            standins[place] = standin[:start] + part[start:stop] + standin[stop:]
        return "".join(standins)

    def _parts(self, text: str) -> Iterator[tuple[str, str]]:
        """Pieces of a text as they may stay, and without all that they quote."""
        before = ""
        for number, piece in enumerate(PHRASES.split(text)):
            if number % 2 and (match := _QUOTED.fullmatch(piece)) is not None:
                quoted = self._quoted(match[2])
                yield from ((match[1], match[1]), (quoted, quoted))
            elif number % 2:
                yield piece, piece
            else:
                loose = piece
                if before.endswith(" token ") and (token := _NUMBER.match(piece)):
                    standin, loose = str(self.token(int(token[0]))), piece[token.end() :]
                    yield standin, standin
                yield from ((part, self._standins.text(part)) for part in _PART.findall(loose))
            before = piece

    def _quoted(self, header: str) -> str:
        """The header that a parser's error quotes: a role, or words as Rust's Debug prints them."""
        if '"' not in header:
            return self._header(header)
        return "".join(
            f'"{self._header(piece)}"' if number % 2 else self._standins.text(piece, _SOME_CALL)
            for number, piece in enumerate(_STRING.split(header))
        )

    def _header(self, text: str) -> str:
        standin = self._standins.text(text, GRAMMAR)
        return standin if standin == text else self._known.slice(text) or standin

    def token(self, token_id: int) -> int:
        """The stand-in of a token that stands alone, where words of the grammar stay."""
        if not 0 <= token_id < FIRST_SPECIAL:
            return token_id
        return self._standins.ids([token_id], GRAMMAR)[0]
