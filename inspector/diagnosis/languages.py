"""Bug reports in other languages: their frequent words in English, so that symptoms need one language only.

The table is `languages.yaml`. What no expression knows stays as it is written.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from inspector.diagnosis.safe_yaml import read_yaml
from inspector.diagnosis.schema import Fields, Wrong, expression, several, text

__all__ = ["DEFAULT_FILE", "Language", "apart", "in_english", "languages"]

DEFAULT_FILE: Final = Path(__file__).with_name("languages.yaml")

_PERHAPS: Final = re.compile(
    r"[^\x00-\u024f\u2000-\u2bff\uff00-\uffef]"
    r"|(?i:\b(?:nicht|und|wird|keine|ist|die|das|el|la|pero|cuando|los|las|está|não|mas|quando|uma"
    r"|le|les|est|avec|pas|mais|dans)\b)"
)
"""Letters or words that English texts lack: without one, the table is not looked at."""


_IDEOGRAPH: Final = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
_TOUCHING: Final = re.compile(
    rf"(?<=[\w>|.)])(?<!{_IDEOGRAPH})(?={_IDEOGRAPH})|(?<={_IDEOGRAPH})(?!{_IDEOGRAPH})(?=[\w<(/])"
)


@dataclass(frozen=True, slots=True)
class Language:
    """A language of the table."""

    name: str
    marks: re.Pattern[str]
    """What its texts have and English ones have not, or not often."""
    least: int
    """Marks that a sentence needs."""
    words: tuple[tuple[re.Pattern[str], str], ...]
    """Expressions and their English, in the order in which they are replaced."""


@cache
def languages() -> tuple[Language, ...]:
    """The table that comes with this package."""
    return tuple(_language(entry) for entry in read_yaml(DEFAULT_FILE.read_text(encoding="utf-8")))


def in_english(sentence: str) -> str:
    """A sentence with the words that the table knows in English; English ones come back as they are."""
    if not _PERHAPS.search(sentence):
        return sentence
    for language in languages():
        if sum(1 for _ in language.marks.finditer(sentence)) >= language.least:
            for words, english in language.words:
                sentence = words.sub(f" {english} ", sentence)
            sentence = " ".join(apart(sentence).split())
    return sentence


def apart(content: str) -> str:
    """A text with spaces where letters of Chinese, Japanese and Korean touch others: words end there."""
    return content if content.isascii() else _TOUCHING.sub(" ", content)


def _language(entry: object) -> Language:
    fields = Fields(entry, "the language")
    language = Language(
        name=fields.take("language", text),
        marks=fields.take("marks", expression),
        least=fields.take("least", _number),
        words=fields.take("words", several(_pair)),
    )
    fields.done()
    return language


def _number(value: Any) -> int:
    if type(value) is not int:
        raise Wrong("must be a number")
    return value


def _pair(value: object) -> tuple[re.Pattern[str], str]:
    if not isinstance(value, list) or len(value) != 2:
        raise Wrong("must be an expression and its English")
    return expression(value[0]), text(value[1]) if value[1].strip(" .,?") else value[1]
