"""One difference between a prompt and its request, as a code with facts; `wording` says it in a sentence."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from inspector.analysis.prompt.messages import PromptMessage


class PromptSeverity(StrEnum):
    """How serious a difference is; it never changes the verdict on the response."""

    WARNING = "warning"
    NOTE = "note"
    """Something to know that servers do on purpose, too."""


class PromptCode(StrEnum):
    """What differs; public in `audit --json`, added to and never renamed."""

    # the history
    REASONING_LOST = "reasoning_lost"
    """Reasoning before a tool call of the unfinished turn."""
    HARMONY_AS_TEXT = "harmony_as_text"
    """An earlier response in the request's history spells special tokens as text."""
    HARMONY_AS_TOKENS = "harmony_as_tokens"
    """Special tokens that a text of the request only spells became real ones."""
    MESSAGE_MISSING = "message_missing"
    MESSAGE_CHANGED = "message_changed"
    MESSAGE_ADDED = "message_added"
    MESSAGE_MOVED = "message_moved"
    HEADER_DIFFERS = "header_differs"
    """The text is there, under another channel, author or recipient."""
    TRUNCATED = "truncated"
    """The prompt begins in the middle of a message."""

    # instructions and tools
    INSTRUCTIONS_MISSING = "instructions_missing"
    INSTRUCTIONS_CHANGED = "instructions_changed"
    INSTRUCTIONS_ADDED = "instructions_added"
    TOOL_MISSING = "tool_missing"
    TOOL_CHANGED = "tool_changed"
    TOOL_ADDED = "tool_added"

    # the system message
    SYSTEM_MISSING = "system_missing"
    EFFORT_DIFFERS = "effort_differs"
    DATE_DIFFERS = "date_differs"
    DATE_MISSING = "date_missing"

    # the whole
    OPENING_MISSING = "opening_missing"
    """The prompt does not end in the header of the response."""
    TOKENS_REJECTED = "tokens_rejected"
    """The reference parser rejects tokens of the prompt."""
    PROMPT_CHANGED = "prompt_changed"
    """The server's prompt is not the one that the request spells out (completions)."""


NOTES: Final = frozenset(
    {
        PromptCode.DATE_DIFFERS,
        PromptCode.DATE_MISSING,
        PromptCode.INSTRUCTIONS_ADDED,
        PromptCode.MESSAGE_MOVED,
    }
)
"""Codes that are notes; all others are warnings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDifference:
    """One difference; None where there is no such place."""

    code: PromptCode
    message: int | None = None
    """The prompt's message, counted from 0; for something missing, the one that follows."""
    token_start: int | None = None
    token_end: int | None = None
    """Half-open; the two are equal where something is missing."""
    request_message: int | None = None
    """The request's message, counted from 0."""
    request_messages: int | None = None
    """How many of the request's messages it is about, from `request_message` on."""
    times: int = 1
    """How many messages differ in the same way, this one the first."""
    name: str | None = None
    """The tool, or what part differs."""
    expected: str | None = None
    found: str | None = None

    @property
    def severity(self) -> PromptSeverity:
        """How much it matters."""
        return PromptSeverity.NOTE if self.code in NOTES else PromptSeverity.WARNING


def about(
    code: PromptCode,
    message: PromptMessage,
    *,
    request: int | None = None,
    name: str | None = None,
    expected: str | None = None,
    found: str | None = None,
) -> PromptDifference:
    """A difference of a whole message of the prompt, and of the message of the request that it stands for."""
    return PromptDifference(
        code=code,
        message=message.index,
        token_start=message.start,
        token_end=message.end,
        request_message=request,
        request_messages=None if request is None else 1,
        name=name,
        expected=expected,
        found=found,
    )
