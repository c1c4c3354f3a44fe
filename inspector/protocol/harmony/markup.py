"""Harmony in text: whole transcripts, transcripts without their special tokens, what is left of a header.

Text that talks about Harmony is none of these. Code (fenced, indented or in backticks) and what is in quotes
do not count. A special token counts only where it touches the text before it, or begins the text and touches
what follows: a server that does not cut at a token leaves it so, while people put spaces, brackets or quotes
around it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from inspector.protocol.harmony.contract import Expected, expect
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.tracker import HarmonyTracker
from inspector.protocol.harmony.transcript import Transcript
from inspector.protocol.harmony.vocab import MARKERS, Marker, encode, is_endless

_CHANNEL: Final = "(?:analysis|commentary|final)"
_STOPS: Final = (Marker.END.text, Marker.RETURN.text, Marker.CALL.text)
_SPELLED: Final = re.compile("|".join(re.escape(marker.text) for marker in Marker))

_BEGINS: Final = re.compile(r"\s*(?:assistant)?(?:analysis(?=[A-Z“\"'(])|commentary to=\w)")
"""`analysisWe need`: no text but a transcript glues the channel to a sentence."""
_FINAL: Final = re.compile(
    r"(?<![\s`\"'“‘(\[…])assistant"
    r"(?:(?:final|analysis|commentary)(?![\s`\"'”’)\].,:;!?…]|\Z)|commentary to=\w|final(?: json[\[{]|```\w))"
)
"""`…answer.assistantfinalParis`: the header of a message between two texts."""
_GLUED: Final = re.compile(r"\s*analysis(?=\w)")
_ANY: Final = re.compile(r"assistant(?:final|commentary|analysis)")

_HEADER: Final = re.compile(
    rf"\s*(?:<\|(?:start|channel)\|>(?=[\w<])[^\n]{{0,400}}?"
    rf"|(?:to=\S{{1,200}}?\s*<\|channel\|>)?{_CHANNEL}(?:\s+to=[^\s<]{{1,200}})?"
    r"(?: ?\w{1,20})?(?: ?<\|constrain\|>\w+)?)"
    r"<\|message\|>"
)
"""A header at the beginning of a text; the prompt may have its `<|start|>assistant` and `<|channel|>`."""
_TOKEN_FIRST: Final = re.compile(rf"\s*(?:{_SPELLED.pattern})[\w<]")
_QUOTED: Final = re.compile(
    r"(?:^|(?<=\n))[ ]{0,3}(```+|~~~+).*?(?:\n[ ]{0,3}\1|\Z)|`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]{0,500}”"
    r"|(?:^|(?<=\n))(?:[ ]{4}|\t|[ ]{0,3}>)[^\n]*",
    re.DOTALL,
)
_ENDED: Final = frozenset(".!?)]}\0")
"""Marks that end a text, and what stands for something quoted; a mention does not touch them."""
_GOES_ON: Final = re.compile(rf"<\|\w+\|>(?:\s*\Z|<\||assistant|{_CHANNEL})")
"""A special token at the end, or before the rest of a header: what counts in scripts without spaces."""
_END: Final = re.compile(rf"(?:{'|'.join(map(re.escape, _STOPS))})(?:\s*\Z|<\|start\|>|assistant)")
_NAME_WORDS: Final = ("json", "code", "commentary", "analysis", "final", "constrain")
"""What a header has after the name of a tool, but for special tokens."""
_PARSED_AT_MOST: Final = 2_000_000
"""Characters of a transcript that are parsed."""


class MarkupForm(StrEnum):
    """What a text has of Harmony."""

    TRANSCRIPT = "transcript"
    """It begins with the header of a message, special tokens included."""
    STRIPPED = "stripped"
    """A transcript without its special tokens: `analysisAdd them.assistantfinalThree.`"""
    TOKEN = "token"
    """A special token, and what follows it."""


@dataclass(frozen=True, slots=True)
class Markup:
    """Harmony in a text."""

    form: MarkupForm
    at: int
    """Its first character."""


@dataclass(frozen=True, slots=True)
class ParsedText:
    """A transcript in a text as its messages; the tokens are those that the text encodes to."""

    ids: list[int]
    transcript: Transcript
    expected: Expected
    well_formed: bool

    @property
    def answer(self) -> str:
        """The text of its last message on the final channel; empty without one."""
        finals = [message for message in self.transcript.messages if message.header.channel == "final"]
        return text_of(self.ids[finals[-1].body : finals[-1].body_end]) if finals else ""


def markup_in(text: str) -> Markup | None:
    """What a text has of Harmony; None for text that only talks about it."""
    if "<|" in text:
        outside = _outside(text)
        if _HEADER.match(outside) is not None:
            return Markup(MarkupForm.TRANSCRIPT, len(text) - len(text.lstrip()))
        for match in _SPELLED.finditer(outside):
            before = outside[match.start() - 1 : match.start()]
            touches = before in _ENDED or (before.isalnum() and before.isascii())
            if touches or (not before.isascii() and _GOES_ON.match(outside, match.start())):
                return Markup(MarkupForm.TOKEN, match.start())
        if _TOKEN_FIRST.match(outside) is not None:
            return Markup(MarkupForm.TOKEN, len(text) - len(text.lstrip()))
    at = stripped_transcript(text)
    return None if at is None else Markup(MarkupForm.STRIPPED, at)


def stripped_transcript(text: str) -> int | None:
    """Where a text shows that it is a transcript without special tokens; None where it does not.

    A word such as `analysis` at the start is not enough: it must be glued to what follows, or a header of a
    later message must be in the text.
    """
    if _GLUED.match(text) is not None and (match := _ANY.search(text)) is not None:
        return match.start()
    if _BEGINS.match(text) is not None:
        return 0
    match = _FINAL.search(_outside(text)) if _ANY.search(text) is not None else None
    return None if match is None else match.start()


def _outside(text: str) -> str:
    """The text with another character for each that is in code or quotes."""
    return _QUOTED.sub(lambda match: "\0" * len(match[0]), text)


def stripped_answer(text: str) -> str | None:
    """The answer in a transcript without special tokens: what follows its last `assistantfinal`."""
    _, header, answer = text.rpartition("assistantfinal")
    return answer if header else None


def parsed(text: str) -> ParsedText | None:
    """The messages of a transcript in a text; None where it is too long to be encoded.

    Without any stop token the server prints none (llama-server), and `<|start|>` ends a message.
    """
    if len(text) > _PARSED_AT_MOST or is_endless(text):
        return None
    text = text.strip()
    if not has_stop(text):
        head, *rest = text.split(Marker.START.text)
        text = f"{Marker.END.text}{Marker.START.text}".join([head, *rest]) if head else text
    prompt: Sequence[int] | None = None
    if text.startswith(Marker.START.text):
        prompt = ()
    elif not text.startswith("<|"):
        prompt = encode("<|start|>assistant<|channel|>")
    ids, tracker, transcript = encode(text), HarmonyTracker(prompt), Transcript()
    transcript.receive(tracker.receive(ids), len(ids))
    well_formed = not transcript.rejected_runs and all(
        message.in_body and MARKERS.isdisjoint(ids[message.body : message.body_end])
        for message in transcript.messages
    )
    return ParsedText(ids, transcript, expect(transcript), well_formed)


def has_stop(text: str) -> bool:
    """Whether a text spells a stop token, which no body has: it would end there."""
    return any(stop in text for stop in _STOPS)


def ends_message(text: str) -> bool:
    """Whether a stop token is at the end of a text, or before the next message."""
    return has_stop(text) and _END.search(text) is not None


def header_in_name(name: str, offered: frozenset[str]) -> int | None:
    """Where the rest of a header begins in the name of a tool; None where the name has none.

    Without a special token only an offered name with one of a header's words behind it is such a name.
    """
    if (at := first_spelled(name)) is not None:
        return at
    if name in offered:
        return None
    ends = (name.removesuffix(word) for word in _NAME_WORDS if name.endswith(word))
    return next((len(end) for end in ends if end.rstrip() in offered), None)


def spelled(text: str) -> list[int]:
    """Places of special tokens of Harmony that a text spells."""
    return [match.start() for match in _SPELLED.finditer(text)] if "<|" in text else []


def first_spelled(text: str) -> int | None:
    """The first of them."""
    match = _SPELLED.search(text)
    return None if match is None else match.start()
