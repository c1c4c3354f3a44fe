"""Where the prompt's token IDs come from: the server's response, or the request itself."""

from enum import StrEnum
from typing import NamedTuple

from inspector.analysis.prompt.told_input import told_input
from inspector.analysis.reading import Reading
from inspector.capture.bounds import TOKENS
from inspector.protocol.harmony.vocab import Marker, encode


class PromptSource(StrEnum):
    """Who says what the prompt's tokens are."""

    SERVER = "server"
    """`prompt_token_ids` in the response."""
    REQUEST = "request"
    """The request itself sends token IDs (completions)."""
    ENCODED = "encoded"
    """The request's text, encoded here (completions)."""
    RENDERED = "rendered"
    """The messages that the server's final object tells, rendered here (Responses)."""


class PromptIds(NamedTuple):
    """A prompt as token IDs."""

    ids: list[int]
    source: PromptSource
    counted: int | None = None
    """How many the server counted, where they were rendered."""


def known_ids(reading: Reading) -> list[int] | None:
    """IDs of the prompt, sent by the server or by the client; None when unknown."""
    if reading.stream.prompt_ids is not None:
        return reading.stream.prompt_ids
    asked = reading.header.request.get("prompt")
    if isinstance(asked, list) and asked and all(type(item) is int for item in asked):
        return asked
    return None


def prompt_ids(reading: Reading) -> PromptIds | None:
    """The prompt's IDs and their source; None when no IDs, Harmony text or messages are known."""
    if reading.stream.prompt_ids:
        return PromptIds(reading.stream.prompt_ids[:TOKENS], PromptSource.SERVER)
    if ids := known_ids(reading):
        return PromptIds(ids[:TOKENS], PromptSource.REQUEST)
    asked = reading.header.request.get("prompt")
    if isinstance(asked, str) and Marker.START.text in asked:
        return PromptIds(encode(asked)[:TOKENS], PromptSource.ENCODED)
    final = reading.stream.final_object
    told = None if final is None else told_input(final)
    return None if told is None else PromptIds(told.ids[:TOKENS], PromptSource.RENDERED, told.counted)
