"""Scored text of an evaluation: it must be the answer alone."""

import re
from collections.abc import Iterator
from typing import Final

from inspector.capture.formats import clip
from inspector.data.lint.finding import Flaw
from inspector.data.lint.rules import Rule
from inspector.data.lint.structure import SHOWN
from inspector.protocol.harmony.markup import first_spelled, stripped_transcript

_NO_FINAL: Final = "It has no final answer."
_THINK: Final = re.compile(r"\s*<think>")
_THOUGHT: Final = re.compile(r"(?:^|[^`\s\"'])\s*</think>(?=\s|\Z)")


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
    if (at := stripped_transcript(text)) is not None:
        note = "" if "assistantfinal" in text else _NO_FINAL
        yield Flaw(rule=Rule.STRIPPED_TRANSCRIPT, at=at, excerpt=clip(text[at:], SHOWN), note=note)
    elif (at := think_tag(text)) is not None:
        yield Flaw(rule=Rule.THINK_TAG, at=at, excerpt=clip(text[at:], SHOWN))


def think_tag(text: str) -> int | None:
    """Where a text begins with reasoning in `<think>`, or closes it; None where it only mentions the tag."""
    if "think>" not in text:
        return None
    match = _THINK.match(text) or _THOUGHT.search(text)
    return None if match is None else text.index("<", match.start())
