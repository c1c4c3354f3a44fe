"""The chat chunk of the usual form, decoded in one call.

Speed only: most chunks of a stream have this form. msgspec decodes them into typed values in a fraction of
the time that reading them member by member takes. A chunk with any other member, type or number of choices
raises, and `chat` reads it member by member, with the same result (tests check that).
"""

from collections.abc import Callable
from typing import Annotated, Final

from msgspec import Meta, MsgspecError, Struct
from msgspec.json import Decoder

TOOLS: Final = 2**17
"""Bound of the index of a tool call: each index from outside makes a field."""


class _Function(Struct, gc=False, forbid_unknown_fields=True):
    name: str | None = None
    arguments: str | None = None


class UsualCall(Struct, gc=False, forbid_unknown_fields=True):
    """A part of a tool call."""

    index: Annotated[int, Meta(ge=0, lt=TOOLS)]
    function: _Function
    id: str | None = None
    type: str | None = None


class UsualDelta(Struct, gc=False, forbid_unknown_fields=True):
    """What a chunk delivers."""

    role: str | None = None
    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[UsualCall] | None = None


class _Choice(Struct, gc=False, forbid_unknown_fields=True):
    delta: UsualDelta
    index: int = 0
    token_ids: list[int] | None = None
    logprobs: None = None
    finish_reason: None = None
    stop_reason: None = None


class UsualChunk(Struct, gc=False, forbid_unknown_fields=True):
    """A chunk with one choice that goes on, without usage, log probabilities or prompt IDs."""

    choices: tuple[_Choice]
    model: str | None = None
    system_fingerprint: str | None = None
    id: str | None = None
    object: str | None = None
    created: int | None = None
    service_tier: str | None = None
    usage: None = None
    prompt_token_ids: None = None


usual_chunk: Final[Callable[[str], UsualChunk]] = Decoder(UsualChunk).decode

UNUSUAL: Final = (MsgspecError, ValueError, RecursionError)
"""What `usual_chunk` raises for any other text; ValueError is for half surrogates."""
