"""Lists of token IDs, as JSON or text: one event with the list, and no deliveries.

Any integer counts as an ID, even outside the vocabulary: a model may emit anything.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from inspector.capture.bounds import TOKENS, over
from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.capture.errors import CaptureError
from inspector.files.importers.payloads import KINDS, shown

ID_KEYS: Final = ("token_ids", "output_token_ids", "tokens")
"""Keys of a JSON object that may contain the IDs."""

_OF_TEXT: Final = b"0123456789+-,; \t\r\n[]()"
_SPACES: Final = bytes.maketrans(b",;\t\r\n[]()", b" " * 9)
_DIGITS: Final = 4000  # Python reads 4300
_NUMBER: Final = re.compile(rb"[+-]?[0-9]{1,%d}" % _DIGITS)
_CUT: Final = "The list has no closing bracket: it is truncated, perhaps inside its last number."


def read_id_list(items: Sequence[Any], text: str, name: str, source: str = "list of token ids") -> Capture:
    """A JSON list that reads as `text`."""
    if not items:
        raise CaptureError(name, f"the list is empty; use {KINDS}")
    if len(items) > TOKENS:
        raise CaptureError(name, over(TOKENS, "token IDs"))
    if set(map(type, items)) != {int}:
        at, item = next((at, item) for at, item in enumerate(items) if type(item) is not int)
        raise CaptureError(name, f"item {at} of the list is {shown(item)}, not a token ID; use integers")
    header = Header(endpoint=Endpoint.TOKENS, source=source)
    return Capture(header=header, events=[Event(text)])


def read_id_object(row: Mapping[str, Any], name: str) -> Capture:
    """A JSON object with IDs under one of `ID_KEYS`."""
    key = next(key for key in ID_KEYS if isinstance(row.get(key), list))
    return read_id_list(row[key], json.dumps(row[key]), name, f"{key} of a JSON object")


def is_id_text(content: bytes) -> bool:
    """True if the content has only numbers and separators."""
    return not content[:4096].translate(None, _OF_TEXT) and not content.translate(None, _OF_TEXT)


def read_id_text(content: bytes, name: str) -> Capture:
    """IDs separated by spaces, commas, semicolons, line breaks or brackets."""
    words = content.translate(_SPACES).split(maxsplit=TOKENS)
    if len(words) > TOKENS:
        raise CaptureError(name, over(TOKENS, "token IDs"))
    plain = b"-" not in content and b"+" not in content and max(map(len, words), default=0) <= _DIGITS
    bad = None if plain else next((word for word in words if not _NUMBER.fullmatch(word)), None)
    if bad is not None:
        item = shown(bad.decode("ascii"))
        why = f"{item} is not a token ID; separate IDs with spaces, commas or line breaks"
        raise CaptureError(name, why)
    ids = [int(word) for word in words]
    capture = read_id_list(ids, json.dumps(ids), name, "text list of token ids")
    cut = content.lstrip().startswith((b"[", b"(")) and not content.rstrip().endswith((b"]", b")"))
    return replace(capture, notes=(_CUT,)) if cut else capture
