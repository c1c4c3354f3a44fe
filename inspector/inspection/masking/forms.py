"""Which tokens have the same form: of equal length, with letters where the other has letters."""

import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Final

from inspector.protocol.harmony.vocab import token_bytes

FIRST_SPECIAL: Final = 199998
"""From this ID on, tokens are special: they hold no text."""

LITERALS: Final = frozenset({"true", "false", "null", "NaN", "Infinity"})
"""Words of JSON."""

_CLASSES: Final = bytes.maketrans(
    bytes(range(256)),
    bytes(
        ord("a") if 97 <= byte <= 122  # small letters
        else ord("A") if 65 <= byte <= 90
        else ord("1") if 48 <= byte <= 57
        else byte if byte < 0x80
        else 0x80 if byte < 0x90  # continuation, as UTF-8 allows it after E0, ED, F0, F4
        else 0x90 if byte < 0xA0
        else 0xA0 if byte < 0xC0
        else 0xC2 if byte < 0xE0
        else byte if byte in (0xE0, 0xED, 0xF0, 0xF4)
        else 0xE1 if byte < 0xF0
        else 0xF1
        for byte in range(256)
    ),
)  # fmt: skip


def of_form(content: bytes) -> Sequence[int]:
    """Tokens whose bytes are of the same classes: small letters, capitals, digits, parts of characters."""
    return _by_class().get(content.translate(_CLASSES), ())


def of_looser_form(content: bytes) -> Sequence[int]:
    """Tokens of as many characters, with any letter for any other; of other lengths in bytes too."""
    return _by_form().get(_form(content.decode("utf-8")), ())


@cache
def _by_class() -> dict[bytes, list[int]]:
    """Tokens of text by the classes of their bytes."""
    tokens: dict[bytes, list[int]] = {}
    for token_id in range(FIRST_SPECIAL):
        content = token_bytes(token_id)
        if content:
            tokens.setdefault(content.translate(_CLASSES), []).append(token_id)
    return tokens


@cache
def _by_form() -> dict[str, list[int]]:
    """Tokens of whole characters: any letter stands for any other."""
    tokens: dict[str, list[int]] = {}
    for ids in _by_class().values():
        for token_id in ids:
            with suppress(UnicodeDecodeError):
                tokens.setdefault(_form(token_bytes(token_id).decode("utf-8")), []).append(token_id)
    return tokens


def _form(text: str) -> str:
    return "".join(_category(char) if is_free(char) else char for char in text)


@cache
def _category(char: str) -> str:
    category = unicodedata.category(char)[0]
    return "L" if category == "M" else category  # a mark belongs to its letter


def is_free(char: str) -> bool:
    """Whether a character may carry private content: letters, digits, symbols."""
    if char.isascii():
        return char.isalnum()
    return _category(char) not in "PZC" and char != "\ufffd"


def changed_in(text: str, standin: str, mask: str) -> tuple[int, int]:
    """How many free characters differ, and how many are free; (0, 1) where the other's form is different."""
    if len(text) != len(standin) or standin.strip() in LITERALS:
        return 0, 1
    changed = free = 0
    for char, replaced, mask_char in zip(text, standin, mask, strict=True):
        if mask_char == "-":
            if char != replaced:
                return 0, 1
            continue
        if mask_char == "x":
            if replaced not in "0123456789abcdefABCDEF":
                return 0, 1
        elif (
            _category(char) != _category(replaced)
            or not is_free(replaced)
            or (replaced == "0" and mask_char == "f")
        ):
            return 0, 1
        free += 1
        changed += char != replaced
    return changed, free
