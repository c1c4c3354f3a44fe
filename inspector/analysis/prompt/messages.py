"""Prompt token IDs to Harmony messages, with exact token spans."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from inspector.protocol.harmony.states import STOPS
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.tracker import HarmonyTracker
from inspector.protocol.harmony.transcript import Message, RejectedRun, Transcript
from inspector.protocol.harmony.vocab import Marker

_AUTHOR: Final = re.compile(r"[^\s<]+")
_NAME_AT_MOST: Final = 256
_HEADER_AT_MOST: Final = 256
"""Tokens of a header that are looked at for its author."""


class MessageState(StrEnum):
    """How much of a message the prompt has."""

    COMPLETE = "complete"
    OPEN = "open"
    """The last message, which the response continues."""
    CUT = "cut"
    """The tokens before the first `<|start|>`: the rest of a message whose beginning is missing."""
    REJECTED = "rejected"
    """Tokens that the reference parser rejects."""


@dataclass(frozen=True, kw_only=True)
class PromptMessage:
    """One message of a prompt; spans are half-open."""

    index: int
    state: MessageState
    start: int
    body: int
    """First token of the body; equals `end` where there is none."""
    body_end: int
    end: int
    role: str | None = None
    name: str | None = None
    """The author's name where it is not the role, such as `functions.get_weather`."""
    channel: str | None = None
    recipient: str | None = None
    content_type: str | None = None
    words: str = ""
    """The reference parser's words about rejected tokens."""
    ids: Sequence[int]
    """The body's tokens."""

    @cached_property
    def text(self) -> str:
        """The body's text."""
        return text_of(self.ids)

    @property
    def size(self) -> int:
        """Tokens, header and end included."""
        return self.end - self.start


def parse(ids: Sequence[int]) -> tuple[PromptMessage, ...]:
    """All messages of a prompt, and the rejected tokens between them, in token order."""
    transcript = Transcript()
    transcript.receive(HarmonyTracker(()).receive(ids), len(ids))
    runs: list[Message | RejectedRun] = [*transcript.messages, *transcript.rejected_runs]
    runs.sort(key=lambda run: run.start)
    return tuple(_message(index, run, ids) for index, run in enumerate(runs))


def _message(index: int, run: Message | RejectedRun, ids: Sequence[int]) -> PromptMessage:
    if isinstance(run, RejectedRun):
        return _rejected(index, run, ids)
    body = run.body if run.in_body else run.end
    author = _author(ids[run.start + 1 : min(body, run.start + _HEADER_AT_MOST)])
    role = run.header.role or (author if not run.in_body else None)
    return PromptMessage(
        index=index,
        state=MessageState.COMPLETE if run.complete else MessageState.OPEN,
        start=run.start,
        body=body,
        body_end=run.body_end,
        end=run.end,
        role=role,
        name=author if author != role else None,
        channel=run.header.channel,
        recipient=run.header.recipient,
        content_type=run.header.content_type,
        ids=ids[body : run.body_end] if run.in_body else (),
    )


def _rejected(index: int, run: RejectedRun, ids: Sequence[int]) -> PromptMessage:
    """Tokens that the parser rejects; of a rejected header, what it would be."""
    cut = index == 0 and run.start == 0 and ids[0] != Marker.START
    body, end = run.start, run.end
    author = None
    if run.in_header and (opened := _place(ids, Marker.MESSAGE, run.start, run.end)) is not None:
        author = _author(ids[run.start + 1 : min(opened, run.start + _HEADER_AT_MOST)])
        stops = [_place(ids, stop, opened, run.end) for stop in STOPS]
        body, end = opened + 1, min((stop for stop in stops if stop is not None), default=run.end)
    return PromptMessage(
        index=index,
        state=MessageState.CUT if cut else MessageState.REJECTED,
        start=run.start,
        body=body,
        body_end=end,
        end=run.end,
        role="tool" if author and "." in author else author,
        name=author if author and "." in author else None,
        words=run.words,
        ids=ids[body:end],
    )


def _author(header: Sequence[int]) -> str | None:
    """The first word of a header."""
    word = _AUTHOR.match(text_of(header))
    return word[0][:_NAME_AT_MOST] if word else None


def _place(ids: Sequence[int], token_id: int, start: int, end: int) -> int | None:
    try:
        return ids.index(token_id, start, end)
    except ValueError:
        return None
