"""The prompt of a Responses request, rendered from the messages in the final object of its response.

No server sends the prompt's token IDs there. With `enable_response_messages: true` vLLM's final object has
the Harmony messages of the prompt (`input_messages`), and it counts the prompt's tokens: a rendering that has
as many is taken as the prompt.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from openai_harmony import Conversation, HarmonyError, Message, RenderConversationConfig, Role

from inspector.protocol.harmony.vocab import encoding, is_endless
from inspector.protocol.wire.stream import token_count, token_ids

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
