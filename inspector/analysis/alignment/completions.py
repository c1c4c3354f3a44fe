"""The tokens of a plain completion aligned with its text: one part, and one field.

No parser is involved, so the text of all tokens should arrive. Only its end may differ: servers leave out the
token or the string that they stopped at, and hold back the tokens of a character that was never completed.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from inspector.analysis.alignment.by_token import align_by_token
from inspector.analysis.alignment.cells import Alignment, Part, spellings, visible, whole_fate, with_left_out
from inspector.analysis.alignment.stops import StopOptions
from inspector.analysis.reading import ChoiceReading
from inspector.capture.deltas import TEXT
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import join_bytes

_CHARACTER_AT_MOST: Final = 4
"""Bytes, and so tokens, of one character."""


def align_completion(choice: ChoiceReading, stop: StopOptions, *, skip_special: bool) -> Alignment:
    """The alignment of a plain completion; `skip_special` if its text leaves out special tokens."""
    ids = choice.tokens.ids
    sent = choice.deltas_by_field()
    delivered = "".join([delta.text for delta in sent.get(TEXT, ())])
    whole = Part(0, len(ids), TEXT, TEXT, None)
    parts = [whole]
    if stop.is_left_out(ids, choice.finish_reason):
        parts.insert(0, replace(whole, end=len(ids) - 1))
    shown = visible(ids, skip_special)
    place = stop.string_in(text_of(shown), delivered, choice.finish_reason)
    if place is not None:
        parts.insert(0, replace(whole, kept=place[0]))
    cut = [part for part in parts if _ends_in_character(shown[: part.end], delivered)]
    parts += [replace(part, kept=len(delivered)) for part in cut]
    for part in parts:
        for (text,) in spellings(shown, [part]):
            if text == delivered:
                fates = with_left_out(shown, part, [whole_fate(part, TEXT, text, 0)])
                return Alignment(fates=fates, extras=[], calls=[])
    part = whole if place is None and delivered.endswith(text_of(shown[-1:]) or "\0") else parts[0]
    fates, extras = align_by_token(choice, [part], sent, skip_special=skip_special)
    fates = with_left_out(shown, part, fates)
    return Alignment(fates=fates, extras=extras, calls=[])


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
