"""The vocabulary: the encoding that vLLM itself uses, its special tokens, and the bytes of each token.

Works offline with oss-harmony (vocabulary inside the wheel); openai-harmony 0.0.x downloads it at
first use, which fails with one sentence where there is no network.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from functools import cache
from typing import Final

from openai_harmony import HarmonyEncoding, HarmonyEncodingName, HarmonyError, load_harmony_encoding

from inspector.capture.errors import InspectorError

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


def marker_places(ids: Sequence[int]) -> list[int]:
    """Places of the IDs that frame messages, in order."""
    places: list[int] = []
    for marker in MARKERS.intersection(ids):  # few, and each search runs in C
        at = -1
        with suppress(ValueError):
            while True:
                places.append(at := ids.index(marker, at + 1))
    return sorted(places)


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


_RUN_AT_MOST: Final = 4096
_MARKS: Final = r"!-/:-@\[-`{-~\u2010-\u205e\u3001-\u303f\uff01-\uff0f\uff1a-\uff20"
_ENDLESS: Final = re.compile(
    rf"[^\s\d{_MARKS}]{{{_RUN_AT_MOST + 1},}}|[{_MARKS}]{{{_RUN_AT_MOST + 1},}}|\s{{{_RUN_AT_MOST + 1},}}"
)
"""Letters, marks or spaces that the encoding takes as one piece, longer than any word of any language."""


def is_endless(text: str) -> bool:
    """True where a text has a run of thousands of letters, marks or spaces, so that its tokens are a guess.

    The encoding's time grows with the square of such a run; it is encoded in slices, and a token that
    would span two of them is not found.
    """
    return len(text) > _RUN_AT_MOST and _ENDLESS.search(text) is not None


def encode(text: str) -> list[int]:
    """Token IDs of Harmony text; special tokens such as `<|start|>` in it become their IDs."""
    inner = encoding()
    return [
        token_id for part in _parts(_sound(text)) for token_id in inner.encode(part, allowed_special="all")
    ]


def encode_plain(text: str) -> list[int]:
    """Token IDs of plain text; `<|start|>` and the like in it stay text."""
    inner = encoding()
    return [
        token_id for part in _parts(_sound(text)) for token_id in inner.encode(part, disallowed_special=())
    ]


def _parts(text: str) -> Iterator[str]:
    """The text, cut into slices within endless runs."""
    at = 0
    for run in _ENDLESS.finditer(text) if len(text) > _RUN_AT_MOST else ():
        for cut in range(run.start() + _RUN_AT_MOST, run.end(), _RUN_AT_MOST):
            yield text[at:cut]
            at = cut
    yield text[at:]


def _sound(text: str) -> str:
    """The text with `?` for half surrogates, which JSON can contain and no encoding accepts."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class _BytesTable(dict[int, bytes]):
    """Bytes of each ID, filled at first use: a capture uses few of the 201,088."""

    def __missing__(self, token_id: int) -> bytes:
        added = b""
        if 0 <= token_id < VOCABULARY_SIZE:
            added = bytes(encoding()._inner.decode_bytes([token_id]))
        if len(self) < VOCABULARY_SIZE:  # IDs from outside must not fill the memory
            self[token_id] = added
        return added


_BYTES: Final = _BytesTable()


def token_bytes(token_id: int) -> bytes:
    """Bytes that a token adds; empty for an ID outside the vocabulary."""
    return _BYTES[token_id]


def join_bytes(ids: Iterable[int] | Sequence[int]) -> bytes:
    """Bytes that several tokens add together."""
    return b"".join(map(_BYTES.__getitem__, ids))


def partial_token(added: bytes) -> int | None:
    """The token that adds exactly these bytes, which are not whole characters; None for others."""
    return _partial_tokens().get(added)


@cache
def _partial_tokens() -> Mapping[bytes, int]:
    tokens = {token_bytes(token_id): token_id for token_id in range(VOCABULARY_SIZE)}
    return {added: token_id for added, token_id in tokens.items() if not _is_text(added)}


def _is_text(added: bytes) -> bool:
    try:
        added.decode()
    except UnicodeDecodeError:
        return False
    return True
