"""How many tokens an answer's texts account for, encoded again with the framing of their messages.

The weakest evidence: sampled tokens need not be the ones that encoding gives.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from inspector.harmony.vocab import encode, encode_plain
from inspector.reading import Reading

__all__ = ["explained_tokens"]

_OPENING: Final = 2
"""`<|start|>assistant`, which the prompt gives for the first message."""


def explained_tokens(reading: Reading) -> int | None:
    """Tokens of one turn's messages; None where the turn cannot be told (server-side tools, plain text).

    Rests on `output_messages` where the request asked for them (`enable_response_messages`), else on the
    items of the final object, for chat on the deltas.
    """
    messages = None
    if reading.spec.final_object:
        response = reading.stream.final_object
        messages = None if response is None else _response_messages(response)
    elif reading.spec.parsed:
        messages = list(_chat_messages(reading))
    if messages is None:
        return None
    framed = sum(len(encode(header)) + len(encode_plain(body)) + 1 for header, body in messages)
    return framed + _OPENING * max(len(messages) - 1, 0)


def _header(channel: str, recipient: str | None = None, content_type: str | None = None) -> str:
    to = f" to={recipient}" if recipient else ""
    kind = f" {content_type}" if content_type else ""
    return f"<|channel|>{channel}{to}{kind}<|message|>"


def _response_messages(response: Mapping[str, Any]) -> list[tuple[str, str]] | None:
    told = response.get("output_messages")
    if isinstance(told, list) and told:
        return list(_harmony_messages(told))
    output = response.get("output")
    if not isinstance(output, list):
        return None
    found: list[tuple[str, str]] = []
    for item in output:
        if not isinstance(item, dict):
            return None
        match item.get("type"):
            case "reasoning":
                found.append((_header("analysis"), _parts(item.get("content"))))
            case "message":
                found.append((_header("final"), _parts(item.get("content"))))
            case "function_call":
                name = f"functions.{item.get('name')}"
                header = _header("commentary", name, "<|constrain|>json")
                found.append((header, str(item.get("arguments") or "")))
            case _:
                return None  # a server-side tool took turns of its own
    return found


def _harmony_messages(told: list[Any]) -> Iterator[tuple[str, str]]:
    for message in told:
        if not isinstance(message, dict):
            continue
        role = message.get("role")
        if role is not None and role != "assistant":
            continue
        recipient, content_type = message.get("recipient"), message.get("content_type")
        header = _header(
            str(message.get("channel") or ""),
            recipient if isinstance(recipient, str) else None,
            content_type if isinstance(content_type, str) else None,
        )
        yield header, _parts(message.get("content"))


def _parts(content: object) -> str:
    if isinstance(content, str):
        return content
    texts = (
        [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    )
    return "".join(text for text in texts if isinstance(text, str))


def _chat_messages(reading: Reading) -> Iterator[tuple[str, str]]:
    got = reading.choice.delivered()
    if got.reasoning:
        yield _header("analysis"), got.reasoning
    if got.content:
        yield _header("final"), got.content
    for call in got.tool_calls:
        yield _header("commentary", f"functions.{call.name}", "<|constrain|>json"), call.arguments
