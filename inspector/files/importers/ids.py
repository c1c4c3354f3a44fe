"""Lists of token IDs, as JSON or text: one event with the list, and no deliveries.

Any integer counts as an ID, even outside the vocabulary: a model may emit anything.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from inspector.capture.bounds import TOKENS, over
from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.capture.errors import CaptureError
from inspector.files.importers.importer import JSON, Content, Importer
from inspector.files.importers.payloads import NO_RESPONSE, shown
from inspector.files.importers.sglang import is_result
from inspector.protocol.wire.endpoints import endpoint_of_payload

ID_KEYS: Final = ("token_ids", "output_token_ids", "output_ids", "tokens")
"""Keys of a JSON object that may contain the IDs."""

_SPACES: Final = bytes.maketrans(b",;\t\r\n[]()", b" " * 9)
_DIGITS: Final = 4000  # Python reads 4300
_NUMBER: Final = re.compile(rb"[+-]?[0-9]{1,%d}" % _DIGITS)
_CUT: Final = "The list has no closing bracket: it is truncated, perhaps inside its last number."


def sniff(content: Content) -> bool:
    """True for a JSON list, an object with IDs that is not a payload, and a text of numbers."""
    if content.items is not None:
        return True
    if content.json_error is not None:  # "[1 2" too, but no list in a list
        cut = content.is_numeric and not content.has_too_many_numbers
        return cut and b"[[" not in content.data.translate(None, b" \t\r\n")
    if content.begins_as_json:
        return has_ids(content.row) and endpoint_of_payload(content.row) is None
    return content.is_numeric


def read(content: Content) -> list[Capture]:
    """The list; raises CaptureError for anything in it that is not an ID."""
    if content.items is not None:
        return [_list(content.items, content.data.decode("utf-8", "replace").strip(), content)]
    if (key := _key(content.row)) is not None:
        ids = content.row[key]
        assert isinstance(ids, list)  # noqa: S101 -- the key is that of a list
        return [_list(ids, json.dumps(ids), content, f"{key} of a JSON object")]
    return [_text(content)]


def has_ids(row: Mapping[str, object]) -> bool:
    """True for an object with a list of IDs, except results of SGLang: those have metadata too."""
    return _key(row) is not None and not is_result(row)


def ids_in(value: object) -> list[int] | None:
    """The IDs that a value is or holds: a list, also as the only row of a tensor, or an object with one."""
    if isinstance(value, Mapping):
        return None if (key := _key(value)) is None else ids_in(value[key])
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        return ids_in(value[0])
    return value if isinstance(value, list) and value and set(map(type, value)) == {int} else None


def _key(row: Mapping[str, object]) -> str | None:
    return next((key for key in ID_KEYS if isinstance(row.get(key), list)), None)


def _list(items: Sequence[object], text: str, content: Content, source: str = "list of token ids") -> Capture:
    """A JSON list that reads as `text`."""
    if not items:
        raise content.unsupported("the list is empty")
    if len(items) > TOKENS:
        raise CaptureError(content.name, over(TOKENS, "token IDs"))
    if set(map(type, items)) != {int}:
        at, item = next((at, item) for at, item in enumerate(items) if type(item) is not int)
        if isinstance(item, dict):
            raise CaptureError(content.name, f"has a JSON array of objects, but {NO_RESPONSE}")
        why = f"item {at} of the list is {shown(item)}, not a token ID; use integers"
        raise CaptureError(content.name, why)
    header = Header(endpoint=Endpoint.TOKENS, source=source)
    return Capture(header=header, events=[Event(text)])


def _text(content: Content) -> Capture:
    """IDs separated by spaces, commas, semicolons, line breaks or brackets."""
    data = content.data
    words = data.translate(_SPACES).split(maxsplit=TOKENS)
    if len(words) > TOKENS:
        raise CaptureError(content.name, over(TOKENS, "token IDs"))
    plain = b"-" not in data and b"+" not in data and max(map(len, words), default=0) <= _DIGITS
    invalid = None if plain else next((word for word in words if not _NUMBER.fullmatch(word)), None)
    if invalid is not None:
        item = shown(invalid.decode("ascii"))
        why = f"{item} is not a token ID; separate IDs with spaces, commas or line breaks"
        raise CaptureError(content.name, why)
    ids = [int(word) for word in words]
    capture = _list(ids, json.dumps(ids), content, "text list of token ids")
    cut = data.lstrip().startswith((b"[", b"(")) and not data.rstrip().endswith((b"]", b")"))
    return replace(capture, notes=(_CUT,)) if cut else capture


IDS: Final = Importer(
    name="ids",
    label="a list of token IDs",
    files=(
        "token IDs: a JSON list, an object with `token_ids`, `output_token_ids`, `output_ids` or `tokens`, "
        "or text with spaces, commas, line breaks or brackets"
    ),
    becomes="a `tokens` capture with one event, the list",
    suffixes=(".json", ".txt"),
    begins=JSON + rb"|[0-9]{1,6}(?:[\s,]+[0-9]{1,6}){3}",
    sniff=sniff,
    read=read,
)
