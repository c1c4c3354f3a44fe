"""Where the prompt's token IDs come from: the server's response, or the request itself."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from openai_harmony import Conversation, HarmonyError, Message, RenderConversationConfig, Role

from inspector.analysis.reading import Reading
from inspector.capture.bounds import TOKENS
from inspector.protocol.harmony.vocab import Marker, encode, encoding, is_endless
from inspector.protocol.wire.stream import token_count, token_ids


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


_RENDERED_AT_MOST: Final = 2_000_000
"""Characters of messages that are rendered here."""
_MESSAGES_AT_MOST: Final = 8_000
_KEEPS_REASONING: Final = (None, RenderConversationConfig(auto_drop_analysis=False))
"""Releases differ in whether reasoning of finished turns is left out."""


class ReportedInput(NamedTuple):
    """A prompt as token IDs, and the number of them that the server counted."""

    ids: list[int]
    counted: int | None


def reported_input(response: Mapping[str, Any]) -> ReportedInput | None:
    """The prompt in a final object; None where it has none, or one that cannot be rendered."""
    input_messages = response.get("input_messages")
    if not isinstance(input_messages, list) or not input_messages or len(input_messages) > _MESSAGES_AT_MOST:
        return None
    counted = _counted(response.get("usage"))
    messages = [message for message in input_messages if isinstance(message, Mapping)]
    if len(messages) < len(input_messages):
        return None
    if all("tokens" in message for message in messages):  # without the Harmony context: the prompt's own ids
        ids = [token_id for message in messages for token_id in token_ids(message["tokens"])]
        return ReportedInput(ids, counted) if ids else None
    return _rendered(messages, counted)


def _rendered(messages: Sequence[Mapping[str, Any]], counted: int | None) -> ReportedInput | None:
    texts = list(_texts(messages, 0))
    # The library has no bound of its own.
    if sum(map(len, texts)) > _RENDERED_AT_MOST or any(map(is_endless, texts)):
        return None
    first: list[int] | None = None
    try:
        conversation = Conversation.from_messages([Message.from_dict(dict(message)) for message in messages])
        for config in _KEEPS_REASONING:
            ids = encoding().render_conversation_for_completion(conversation, Role.ASSISTANT, config=config)
            if len(ids) == counted:
                return ReportedInput(ids, counted)
            first = first or ids
    except (HarmonyError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return None if first is None else ReportedInput(first, counted)


def _texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < 64 and isinstance(value, Mapping | list):
        for part in [*value, *value.values()] if isinstance(value, Mapping) else value:
            yield from _texts(part, depth + 1)


def _counted(usage: object) -> int | None:
    """The tokens of the first prompt: a server that runs tools itself counts those of all turns."""
    if not isinstance(usage, Mapping):
        return None
    details = usage.get("input_tokens_details")
    turns = details.get("input_tokens_per_turn") if isinstance(details, Mapping) else None
    first = turns[0] if isinstance(turns, list) and turns else usage.get("input_tokens")
    return token_count(first)
