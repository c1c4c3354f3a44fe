"""The first token at which two prompts differ, in its message."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from inspector.analysis.alignment.edits import common_prefix
from inspector.analysis.prompt.messages import MessageState, PromptMessage, parse
from inspector.capture.formats import clip
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import Marker

_SHOWN: Final = 24
"""Tokens of a side that are quoted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPlace:
    """The token of one side."""

    message: int | None
    """The message that it is in, counted from 0; None past the end, and where the prompt is not Harmony."""
    header: str
    """Whose message that is, e.g. `assistant, analysis`."""
    text: str
    """The text from this token on."""

    @property
    def where(self) -> str:
        """The message in words; empty where there is none."""
        return "" if self.message is None else f"message {self.message:,} ({self.header})"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstDifference:
    """Where two prompts part."""

    token: int
    left: PromptPlace
    right: PromptPlace

    @property
    def sentence(self) -> str:
        """The place and both texts."""
        part = self.left.where or self.right.where
        inside = f", in {part}" if part else ""
        texts = [f"“{place.text}”" if place.text else "the end" for place in (self.left, self.right)]
        sides = f"{texts[0]} on the left, {texts[1]} on the right"
        return f"The first different token is {self.token:,}{inside}: {sides}."


def first_difference(left: Sequence[int], right: Sequence[int]) -> FirstDifference | None:
    """The first difference of two prompts; None where they are equal."""
    if left == right:
        return None
    token = common_prefix(left, right)
    return FirstDifference(token=token, left=_place(left, token), right=_place(right, token))


def headline(message: PromptMessage) -> str:
    """Whose message it is: author, channel and recipient."""
    parts = [message.name or message.role or str(message.state), message.channel]
    parts.append(f"to {message.recipient}" if message.recipient else None)
    return clip(", ".join(part for part in parts if part), 120)


def _place(ids: Sequence[int], token: int) -> PromptPlace:
    text = clip(text_of(ids[token : token + _SHOWN]), 60)
    if token >= len(ids) or Marker.START not in ids:
        return PromptPlace(message=None, header="", text=text)
    messages = parse(ids)
    index = bisect_right(messages, token, key=lambda message: message.start) - 1
    at = messages[max(index, 0)]
    opening = at.state is MessageState.OPEN and at.body == at.end
    return PromptPlace(
        message=at.index, header="the response's header" if opening else headline(at), text=text
    )
