"""The tokens of a plain completion aligned with its text: one part, and one field.

No parser is involved, so the text of all tokens should arrive. Only its end may differ: servers leave out the
token or the string that they stopped at, and hold back the tokens of a character that was never completed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from inspector.analysis.alignment.by_token import align_by_token
from inspector.analysis.alignment.cells import FIRST_SPECIAL, Alignment, Part, same_text, visible, whole_fate
from inspector.analysis.reading import ChoiceReading
from inspector.capture.deltas import TEXT
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import join_bytes

_CHARACTER_AT_MOST: Final = 4
"""Bytes, and so tokens, of one character."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopOptions:
    """What of a request decides where the text of a plain completion ends."""

    strings: tuple[str, ...] = ()
    token_ids: frozenset[int] = frozenset()
    """Stop tokens beyond the model's own."""
    included: bool = False
    """True when the text keeps what it stopped at (`include_stop_str_in_output`)."""


def align_completion(choice: ChoiceReading, stop: StopOptions, *, skip_special: bool) -> Alignment:
    """The alignment of a plain completion; `skip_special` if its text leaves out special tokens."""
    part = Part(0, _text_end(choice, stop), TEXT, TEXT, None)
    span = visible(choice.tokens.ids[: part.end], skip_special)
    generated = text_of(span, ended=False)
    sent = choice.deltas_by_field()
    delivered = "".join([delta.text for delta in sent.get(TEXT, ())])
    if (
        same_text([span], generated, delivered)
        or _ends_at_stop_string(choice, generated, delivered, stop)
        or _ends_in_character(span, delivered)
    ):
        return Alignment(fates=[whole_fate(part, TEXT, generated)], extras=[], calls=[])
    fates, extras = align_by_token(choice, [part], sent, skip_special=skip_special)
    return Alignment(fates=sorted(fates, key=lambda fate: fate.start), extras=extras, calls=[])


def _text_end(choice: ChoiceReading, stop: StopOptions) -> int:
    """Past the last token with text: without the one it stopped at, unless the request keeps that."""
    ids = choice.tokens.ids
    if not ids or choice.finish_reason != "stop" or stop.included:
        return len(ids)
    return len(ids) - (ids[-1] >= FIRST_SPECIAL or ids[-1] in stop.token_ids)


def _ends_at_stop_string(choice: ChoiceReading, generated: str, delivered: str, stop: StopOptions) -> bool:
    """True when the text ends right before a stop string, which servers leave out."""
    if choice.finish_reason != "stop" or stop.included or not generated.startswith(delivered):
        return False
    rest = generated[len(delivered) :]
    return any(rest.startswith(string) for string in stop.strings)


def _ends_in_character(span: Sequence[int], delivered: str) -> bool:
    """True when all arrived but the last tokens, which only begin a character: servers hold them back."""
    rest = [token_id for token_id in span if join_bytes((token_id,))]
    for _ in range(_CHARACTER_AT_MOST):
        if text_of(rest) == text_of(rest, ended=False):
            return False
        rest.pop()
        if text_of(rest) == delivered:
            return True
    return False
