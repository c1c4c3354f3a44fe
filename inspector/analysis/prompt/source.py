"""Where the prompt's token IDs come from: the server's response, or the request itself."""

from enum import StrEnum
from typing import NamedTuple

from inspector.analysis.prompt.reported_input import reported_input
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
    """The messages of the server's final object, rendered here (Responses)."""


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
    prompt = reading.header.request.get("prompt")
    if isinstance(prompt, list) and prompt and all(type(item) is int for item in prompt):
        return prompt
    return None


def prompt_ids(reading: Reading) -> PromptIds | None:
    """The prompt's IDs and their source; None when no IDs, Harmony text or messages are known."""
    if reading.stream.prompt_ids:
        return PromptIds(reading.stream.prompt_ids[:TOKENS], PromptSource.SERVER)
    if ids := known_ids(reading):
        return PromptIds(ids[:TOKENS], PromptSource.REQUEST)
    prompt = reading.header.request.get("prompt")
    if isinstance(prompt, str) and Marker.START.text in prompt:
        return PromptIds(encode(prompt)[:TOKENS], PromptSource.ENCODED)
    final = reading.stream.final_object
    reported = None if final is None else reported_input(final)
    return (
        None
        if reported is None
        else PromptIds(reported.ids[:TOKENS], PromptSource.RENDERED, reported.counted)
    )
