"""The vocabulary: the encoding that vLLM itself uses, its special tokens, and the bytes of each token.

Works offline with oss-harmony (vocabulary inside the wheel); openai-harmony 0.0.x downloads it at
first use, which fails with one sentence where there is no network.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from functools import cache
from typing import Final

from openai_harmony import HarmonyEncoding, HarmonyEncodingName, HarmonyError, load_harmony_encoding

from inspector.errors import InspectorError

__all__ = [
    "ASSISTANT",
    "MARKERS",
    "VOCABULARY_SIZE",
    "Marker",
    "encode",
    "encode_plain",
    "encoding",
    "is_marker",
    "join_bytes",
    "token_bytes",
]

ASSISTANT: Final = 173781
"""The token `assistant`: a completion's prompt ends in `<|start|>` and this."""

VOCABULARY_SIZE: Final = 201088
"""Size of o200k_harmony with its reserved IDs, as in gpt-oss's config.json."""


class Marker(IntEnum):
    """The special tokens that frame Harmony messages."""

    RETURN = 200002
    CONSTRAIN = 200003
    CHANNEL = 200005
    START = 200006
    END = 200007
    MESSAGE = 200008
    CALL = 200012

    @property
    def text(self) -> str:
        """The special token as Harmony text writes it, e.g. `<|start|>`."""
        return f"<|{self.name.lower()}|>"


MARKERS: Final[frozenset[int]] = frozenset(Marker)


def is_marker(token_id: int) -> bool:
    """True for the seven IDs that frame messages."""
    return token_id in MARKERS


@cache
def encoding() -> HarmonyEncoding:
    """The o200k_harmony encoding of the installed `openai_harmony`.

    Raises InspectorError when the installed library has no vocabulary and cannot fetch one.
    """
    try:
        return load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)
    except (HarmonyError, OSError) as error:
        raise InspectorError(
            f"the Harmony vocabulary cannot be loaded ({error}); install oss-harmony, which includes it"
        ) from error


def encode(text: str) -> list[int]:
    """Token IDs of Harmony text; special tokens such as `<|start|>` in it become their IDs."""
    return list(encoding().encode(_sound(text), allowed_special="all"))


def encode_plain(text: str) -> list[int]:
    """Token IDs of plain text; `<|start|>` and the like in it stay text."""
    return list(encoding().encode(_sound(text), disallowed_special=()))


def _sound(text: str) -> str:
    """The text with `?` for half surrogates, which JSON can bring and no encoding takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class _BytesTable(dict[int, bytes]):
    """Bytes of each id, filled at first use: a capture uses few of the 201,088."""

    def __missing__(self, token_id: int) -> bytes:
        known = b""
        if 0 <= token_id < VOCABULARY_SIZE:
            known = bytes(encoding()._inner.decode_bytes([token_id]))
        if len(self) < VOCABULARY_SIZE:  # ids from outside must not fill the memory
            self[token_id] = known
        return known


_BYTES: Final = _BytesTable()


def token_bytes(token_id: int) -> bytes:
    """Bytes that a token adds; empty for an id outside the vocabulary."""
    return _BYTES[token_id]


def join_bytes(ids: Iterable[int] | Sequence[int]) -> bytes:
    """Bytes that several tokens add together."""
    return b"".join(map(_BYTES.__getitem__, ids))
