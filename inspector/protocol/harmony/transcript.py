"""Harmony events folded to messages with exact token spans, and rejected runs between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from inspector.protocol.harmony.events import (
    BodyAdded,
    HarmonyEvent,
    HeaderClosed,
    HeaderOpened,
    MessageClosed,
    MessageHeader,
    TokenRejected,
)
from inspector.protocol.harmony.states import HEADER_STATES, State

USUAL_PROMPT = -2
"""Start of a header that continues the prompt's `<|start|>assistant`."""
_OPEN = MessageHeader(role=None, channel=None, recipient=None, content_type=None, constrained=False)


@dataclass(slots=True)
class Message:
    """Header and body as the tokens have it; spans are half-open token indexes."""

    start: int
    """First token: `<|start|>`, or 0 when the prompt began the message, see `in_prompt`."""
    body: int
    """First body token; equals `end` while the header is open."""
    body_end: int
    """Past the last body token."""
    end: int
    """Past the last token, the stop token included."""
    header: MessageHeader = _OPEN
    in_body: bool = False
    """False while the header is open."""
    complete: bool = False
    """True once a stop token closed it."""
    in_prompt: bool = False
    """Whether the prompt ended in its `<|start|>assistant`, as is usual."""


@dataclass(slots=True)
class RejectedRun:
    """A run of tokens from the one that the reference parser rejected to the next `<|start|>`.

    For a rejected header the run begins with the header's own first token, as `start` says; `at` is the
    token that the reference parser rejected, negative when it stands in the prompt.
    """

    start: int
    at: int
    end: int
    state: State
    words: str
    in_prompt: bool = False
    """Whether the prompt ended in the `<|start|>assistant` of the rejected header."""

    @property
    def in_header(self) -> bool:
        """True when a header was rejected, at its `<|message|>`."""
        return self.state in HEADER_STATES


class Transcript:
    """All messages and rejected runs of one completion, in token order; grows with `receive`."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.rejected_runs: list[RejectedRun] = []
        self.count = 0
        """Tokens folded so far."""
        self._open: Message | RejectedRun | None = None

    def receive(self, events: Sequence[HarmonyEvent], count: int) -> None:
        """Fold some events; `count` is the number of tokens of the completion so far."""
        for event in events:
            match event:
                case HeaderOpened(at=at):
                    self._close(at)
                    start, in_prompt = max(at, 0), at == USUAL_PROMPT
                    self._open = Message(start, body=start, body_end=start, end=start, in_prompt=in_prompt)
                    self.messages.append(self._open)
                case HeaderClosed(at=at, header=header):
                    message = self._message(at)
                    message.header, message.in_body = header, True
                    message.body = message.body_end = message.end = max(at + 1, 0)
                case BodyAdded(end=end):
                    message = self._message(end)
                    message.body_end = message.end = max(end, 0)
                case MessageClosed(at=at):
                    message = self._message(at)
                    message.body_end, message.end, message.complete = max(at, 0), max(at + 1, 0), True
                    self._open = None
                    if at < 0:  # all of it stands in the prompt
                        self.messages.pop()
                case TokenRejected(at=at, state=state, words=words):
                    self._refuse(at, state, words)
                case _:
                    assert_never(event)
        self.count = count
        self._stretch(count)

    def _message(self, at: int) -> Message:
        assert isinstance(self._open, Message), at  # noqa: S101 -- the tracker opens before it fills
        return self._open

    def _refuse(self, at: int, state: State, words: str) -> None:
        start, in_prompt = at, False
        if state in HEADER_STATES and self.messages and self.messages[-1] is self._open:
            message = self.messages.pop()
            start, in_prompt = message.start, message.in_prompt
        else:
            self._close(at)
        end = max(at + 1, 0)
        self._open = RejectedRun(max(start, 0), at=at, end=end, state=state, words=words, in_prompt=in_prompt)
        self.rejected_runs.append(self._open)

    def _close(self, at: int) -> None:
        self._stretch(at)
        self._open = None

    def _stretch(self, to: int) -> None:
        """Extend an open header or rejected run to the newest token."""
        match self._open:
            case Message(in_body=False) as message:
                message.body = message.body_end = message.end = max(to, message.start)
            case RejectedRun() as rejected_run:
                rejected_run.end = max(to, rejected_run.end)
