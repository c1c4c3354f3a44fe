"""What a server says in its own words: it stays, but for what it quotes."""

import re
from typing import Final

from inspector.masking.forms import FIRST_SPECIAL
from inspector.masking.pieces import Known
from inspector.masking.sequences import GRAMMAR
from inspector.masking.standins import Standins

__all__ = ["Words"]

_TOKEN: Final = re.compile(r"(?<=token )\d{1,6}|(?<=token_id:)\d{1,6}")
_QUOTED: Final = re.compile(r"(?<=Unknown role: )[^\n]+|(?<=remaining in message header: )[^\n]+")
_PHRASES: Final = re.compile(
    r"((?:unexpected tokens remaining in message header|Unknown role)(?:: [^\n]+)?"
    r"|Unexpected token(?: \d+ while expecting start token)?|expecting start token"
    r"|Unexpected EOS while waiting for message(?: header to complete)?"
    r"|channel marker present but no channel value found(?: in header)?"
    r"|message header did not contain a role|could not decode header)"
)
"""What Harmony's parser says; a model may write such words too. Headers that it quotes are replaced apart."""
_SHORT: Final = re.compile(r"(?<=(['\"`]))[^'\"`\n]{1,7}(?=\1)")
_STRING: Final = re.compile(r'(?<=")(?:[^"\\]|\\.)+(?=")')


class Words:
    """Error messages and notes with stand-ins for what they quote."""

    def __init__(self, known: Known, standins: Standins) -> None:
        self._known = known
        self._standins = standins

    def masked(self, text: str) -> str:
        """The words; only what they quote is replaced."""
        if not text:
            return text
        text = "".join(
            part if number % 2 else self._known.without_quotes(part)
            for number, part in enumerate(_PHRASES.split(text))
        )
        text = _SHORT.sub(lambda found: self._known.quoted(found[0]), text)
        text = _TOKEN.sub(lambda found: str(self.token(int(found[0]))), text)
        return _QUOTED.sub(self._quoted, text)

    def _quoted(self, found: re.Match[str]) -> str:
        """The header that a parser's error quotes: a role, or words as Rust's Debug prints them."""
        if '"' not in found[0]:
            return self._header(found[0])
        return _STRING.sub(lambda one: self._header(one[0]), found[0])

    def _header(self, text: str) -> str:
        found = self._known.slice(text)
        return self._standins.text(text, GRAMMAR) if found is None else found

    def token(self, token_id: int) -> int:
        """The stand-in of a token that stands alone, where words of the grammar stay."""
        if not 0 <= token_id < FIRST_SPECIAL:
            return token_id
        return self._standins.ids([token_id], GRAMMAR)[0]
