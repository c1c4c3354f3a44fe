"""Scored text of an evaluation: it must be the answer alone."""

from collections.abc import Iterator

from inspector.capture.formats import clip
from inspector.data.lint.finding import Flaw
from inspector.data.lint.rules import Rule
from inspector.data.lint.spelled import first_spelled, is_transcript, think_tag
from inspector.data.lint.structure import SHOWN

_NO_FINAL = "It has no final answer."


def check_answer(text: str) -> Iterator[Flaw]:
    """Flaws of one scored text; places are characters."""
    if (at := first_spelled(text)) is not None:
        note = "" if "<|channel|>final" in text else _NO_FINAL
        yield Flaw(rule=Rule.RAW_HARMONY_ANSWER, at=at, excerpt=clip(text[at:], SHOWN), note=note)
    elif not text.strip():
        yield Flaw(rule=Rule.EMPTY_ANSWER)
    else:
        yield from check_plain(text)


def check_plain(text: str) -> Iterator[Flaw]:
    """Flaws of text without special tokens."""
    if (at := is_transcript(text)) is not None:
        note = "" if "assistantfinal" in text else _NO_FINAL
        yield Flaw(rule=Rule.STRIPPED_TRANSCRIPT, at=at, excerpt=clip(text[at:], SHOWN), note=note)
    elif (at := think_tag(text)) is not None:
        yield Flaw(rule=Rule.THINK_TAG, at=at, excerpt=clip(text[at:], SHOWN))
