"""How many tokens the texts of a chat answer account for, encoded again with the framing of their messages.

The weakest evidence: sampled tokens need not be the ones that encoding gives.
"""

from collections.abc import Iterator
from typing import Final

from inspector.analysis.reading import Reading
from inspector.protocol.harmony.vocab import encode, encode_plain, is_endless

_OPENING: Final = 2
"""`<|start|>assistant`, which the prompt gives for the first message."""


def explained_tokens(reading: Reading) -> int | None:
    """Tokens of the messages that the deltas account for; None for other endpoints, and texts without words.

    For Responses see `harmony.reconstruction`.
    """
    if not reading.spec.parsed or reading.spec.final_object:
        return None
    messages = list(_chat_messages(reading))
    if any(is_endless(text) for message in messages for text in message):
        return None
    framed = sum(len(encode(header)) + len(encode_plain(body)) + 1 for header, body in messages)
    return framed + _OPENING * max(len(messages) - 1, 0)


def _header(channel: str, recipient: str | None = None, content_type: str | None = None) -> str:
    to = f" to={recipient}" if recipient else ""
    kind = f" {content_type}" if content_type else ""
    return f"<|channel|>{channel}{to}{kind}<|message|>"


def _chat_messages(reading: Reading) -> Iterator[tuple[str, str]]:
    got = reading.choice.delivered()
    if got.reasoning:
        yield _header("analysis"), got.reasoning
    if got.content:
        yield _header("final"), got.content
    for call in got.tool_calls:
        yield _header("commentary", f"functions.{call.name}", "<|constrain|>json"), call.arguments
