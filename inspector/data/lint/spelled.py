"""Special tokens in plain text, and transcripts that lost them."""

import re
from typing import Final

from inspector.protocol.harmony.vocab import Marker

_MARKER: Final = re.compile("|".join(re.escape(marker.text) for marker in Marker))

_BEGINS: Final = re.compile(r"\s*(?:assistant)?(?:analysis(?=[A-Z“\"'(])|commentary to=\w)")
"""`analysisWe need`: no text but a transcript glues the channel to a sentence."""
_FINAL: Final = re.compile(
    r"(?<![\s`\"'“‘(\[])assistant"
    r"(?:(?:final|analysis|commentary)(?![\s`\"'”’)\].,:;!?]|\Z)|commentary to=\w|final(?: json[\[{]|```\w))"
)
"""`…answer.assistantfinalParis`: the header of a message between two texts."""
_GLUED: Final = re.compile(r"\s*analysis(?=\w)")
_ANY: Final = re.compile(r"assistant(?:final|commentary|analysis)")

_THINK: Final = re.compile(r"\s*<think>")
_THOUGHT: Final = re.compile(r"(?:^|[^`\s\"'])\s*</think>(?=\s|\Z)")


def think_tag(text: str) -> int | None:
    """Where a text begins with reasoning in `<think>`, or closes it; None where it only mentions the tag."""
    if "think>" not in text:
        return None
    match = _THINK.match(text) or _THOUGHT.search(text)
    return None if match is None else text.index("<", match.start())


def spelled(text: str) -> list[int]:
    """Places of special tokens of Harmony that a text spells."""
    return [match.start() for match in _MARKER.finditer(text)] if "<|" in text else []


def first_spelled(text: str) -> int | None:
    """The first of them."""
    match = _MARKER.search(text)
    return None if match is None else match.start()


def is_transcript(text: str) -> int | None:
    """Where a text shows that it is a transcript without special tokens; None where it does not.

    A word such as `analysis` at the start is not enough: it must be glued to what follows, or a header of a
    later message must be in the text.
    """
    if _GLUED.match(text) is not None and (match := _ANY.search(text)) is not None:
        return match.start()
    if _BEGINS.match(text) is not None:
        return 0
    match = _FINAL.search(text)
    return None if match is None else match.start()
