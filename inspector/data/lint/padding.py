"""Where token IDs begin and end without padding: `<|endoftext|>`, a reserved token or the EOS token."""

from collections.abc import Sequence
from typing import Final

from inspector.protocol.harmony.vocab import MARKERS, Marker

SPECIAL_FROM: Final = 199998
"""All IDs from here on are special tokens."""

RUN: Final = 3
"""So many `<|return|>` at one end are padding wherever they are: many trainers pad with the EOS token."""


def unpadded(ids: Sequence[int], *, run: int = RUN) -> tuple[int, int]:
    """Where a row begins and ends without padding.

    At its end so many `<|return|>` are padding, but one of them belongs to the row, except after a tool call,
    which ends in `<|call|>`. Before `<|start|>` any `<|return|>` is padding.
    """
    first, end = 0, len(ids)
    while first < end and _is_padding(ids[first]):
        first += 1
    while end > first and _is_padding(ids[end - 1]):
        end -= 1
    ahead, stop = first, end
    while ahead < end and ids[ahead] == Marker.RETURN:
        ahead += 1
    while stop > ahead and ids[stop - 1] == Marker.RETURN:
        stop -= 1
    if ahead - first >= run or (ahead < end and ids[ahead] == Marker.START):
        first = ahead
    if end - stop < run:
        return first, end
    return first, stop if stop > first and ids[stop - 1] == Marker.CALL else stop + 1


def is_padded(value: object) -> bool:
    """True for token IDs that end in a run of `<|return|>`, which pads the other rows of their column too."""
    return isinstance(value, list) and len(value) > RUN and value[-RUN:] == [Marker.RETURN] * RUN


def _is_padding(token_id: int) -> bool:
    return token_id >= SPECIAL_FROM and token_id not in MARKERS
