"""A prompt as blocks for a page: bounded, with its differences at their places."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from inspector.analysis.prompt import (
    MessageState,
    Prompt,
    PromptCode,
    PromptMessage,
    PromptSource,
    difference_sentence,
    headline,
)
from inspector.capture.formats import count, number
from inspector.protocol.harmony.text import texts

_FIRST: Final = 20
_LAST: Final = 80
"""Messages drawn at the start and at the end of a long prompt, besides those that differ."""
_DIFFERING: Final = 50
_TEXT: Final = 4_000
"""Characters of a message that are drawn."""
_TOKENS: Final = 400
"""Tokens of a message that are drawn with their IDs."""
_ALL_TOKENS: Final = 8_000
_ABSENT: Final = frozenset(
    {PromptCode.REASONING_LOST, PromptCode.MESSAGE_MISSING, PromptCode.INSTRUCTIONS_MISSING}
)
_HUES: Final = {"analysis": "reasoning", "final": "content", "commentary": "preamble"}
_SOURCES: Final = {
    PromptSource.SERVER: "token IDs sent by the server",
    PromptSource.REQUEST: "token IDs of the request",
    PromptSource.ENCODED: "the request's text, encoded here",
    PromptSource.RENDERED: "the messages in the server's final object, rendered here",
}


def prompt_label(prompt: Prompt) -> str:
    """The prompt in one line: tokens, messages, differences."""
    size = f"Prompt: {count(len(prompt.ids), 'token')}, {count(len(prompt.messages), 'message')}"
    if not prompt.differences:
        return size
    return f"{size}, {count(len(prompt.differences), 'difference')} from the request"


def prompt_blocks(prompt: Prompt, *, with_ids: bool = False, first: int | None = None) -> dict[str, Any]:
    """The content of the page's component; `first` is the first token that differs from another prompt."""
    differences = prompt.differences[:_DIFFERING]
    at = None if first is None else _holder(prompt.messages, first)
    drawn = _drawn(prompt.messages, {difference.message for difference in differences} | {at})
    room = _ALL_TOKENS
    blocks: list[dict[str, Any]] = []
    last = -1
    for message in drawn:
        if message.index > last + 1:
            blocks.append({"kind": "gap", "text": count(message.index - last - 1, "more message")})
        last = message.index
        of_message = [difference for difference in differences if difference.message == message.index]
        blocks += [
            {"kind": "missing", "text": difference_sentence(difference)}
            for difference in of_message
            if difference.code in _ABSENT
        ]
        notes = [
            difference_sentence(difference) for difference in of_message if difference.code not in _ABSENT
        ]
        if message.index == at and first is not None:
            notes.append(f"Token {number(first)} is the first that differs.")
        block = _block(message, notes)
        if with_ids:
            block["tokens"] = _tokens(prompt, message, min(room, _TOKENS))
            room -= len(block["tokens"])
            block["tokens_more"] = message.size - len(block["tokens"])
        blocks.append(block)
    if last + 1 < len(prompt.messages):
        blocks.append({"kind": "gap", "text": count(len(prompt.messages) - last - 1, "more message")})
    return {
        "level": "unknown" if prompt.unknown else str(prompt.worst or "clean"),
        "sentence": difference_sentence(differences[0]) if differences else prompt.sentence,
        "source": _source(prompt),
        "rest": [
            {"level": str(difference.severity), "text": difference_sentence(difference)}
            for difference in differences[1:]
        ],
        "more": len(prompt.differences) - len(differences),
        "blocks": blocks,
    }


def _source(prompt: Prompt) -> str:
    """Where the tokens come from; for rendered ones, whether the server's count confirms them."""
    if prompt.source is not PromptSource.RENDERED or prompt.counted is None:
        return _SOURCES[prompt.source]
    if prompt.counted == len(prompt.ids):
        return f"{_SOURCES[prompt.source]}; the server counted the same number of tokens"
    return f"{_SOURCES[prompt.source]}; the server counted {count(prompt.counted, 'token')}"


def _holder(messages: Sequence[PromptMessage], token: int) -> int | None:
    return next((message.index for message in messages if message.start <= token < message.end), None)


def _drawn(messages: Sequence[PromptMessage], places: set[int | None]) -> list[PromptMessage]:
    """The messages that are drawn: the first, the last, and those of a difference."""
    if len(messages) <= _FIRST + _LAST:
        return list(messages)
    tail = len(messages) - _LAST
    return [
        message
        for message in messages
        if message.index < _FIRST or message.index >= tail or message.index in places
    ]


def _block(message: PromptMessage, notes: Sequence[str]) -> dict[str, Any]:
    opening = message.state is MessageState.OPEN and message.body == message.end
    text = message.text
    return {
        "kind": "message",
        "title": f"{number(message.index)} · {headline(message)}",
        "meta": "the response begins here"
        if opening
        else f"{count(message.size, 'token')} from {number(message.start)}",
        "hue": _hue(message),
        "open": opening,
        "text": text[:_TEXT],
        "text_more": max(len(text) - _TEXT, 0),
        "tokens": None,
        "tokens_more": 0,
        "notes": list(notes),
    }


def _hue(message: PromptMessage) -> str:
    if message.state in {MessageState.CUT, MessageState.REJECTED}:
        return "loss"
    if message.role == "tool" or (message.recipient or "").startswith("functions."):
        return "tool"
    return _HUES.get(message.channel or "", "other")


def _tokens(prompt: Prompt, message: PromptMessage, most: int) -> list[tuple[str, int, bool]]:
    """Text and ID of the first tokens of a message, and whether each is in the header."""
    end = min(message.end, message.start + most)
    token_texts = texts(prompt.ids[message.start : end])
    return list(islice(_numbered(prompt, message, token_texts), most))


def _numbered(
    prompt: Prompt, message: PromptMessage, token_texts: Sequence[str]
) -> Iterator[tuple[str, int, bool]]:
    for index, text in enumerate(token_texts, message.start):
        yield text, prompt.ids[index], index < message.body
