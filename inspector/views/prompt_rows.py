"""Flat rows of a prompt for `audit --json`, `tokens --prompt` and the pages."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from inspector.analysis.prompt import (
    MessageState,
    Prompt,
    PromptDifference,
    PromptMessage,
    difference_sentence,
)
from inspector.protocol.harmony.text import texts
from inspector.protocol.harmony.vocab import token_bytes


def prompt_row(prompt: Prompt | None) -> dict[str, Any] | None:
    """The section `prompt` of `audit --json`; None where the prompt's tokens are unknown."""
    if prompt is None:
        return None
    return {
        "source": str(prompt.source),
        "tokens": len(prompt.ids),
        "counted": prompt.counted,
        "compared": not prompt.unknown,
        "identical": prompt.identical,
        "sentence": prompt.sentence,
        "messages": [prompt_message_row(message) for message in prompt.messages],
        "differences": [prompt_difference_row(difference) for difference in prompt.differences],
    }


def prompt_message_row(message: PromptMessage) -> dict[str, Any]:
    """One message of a prompt, without its text."""
    return {
        "state": str(message.state),
        "role": message.role,
        "name": message.name,
        "channel": message.channel,
        "recipient": message.recipient,
        "content_type": message.content_type,
        "token_start": message.start,
        "token_end": message.end,
    }


def prompt_difference_row(difference: PromptDifference) -> dict[str, Any]:
    """One difference, with its sentence."""
    return asdict(difference) | {
        "code": str(difference.code),
        "severity": str(difference.severity),
        "explanation": difference_sentence(difference),
    }


def prompt_token_rows(prompt: Prompt) -> Iterator[dict[str, Any]]:
    """One row per token of a prompt, like `token_rows` for a response."""
    for message in prompt.messages:
        token_texts = texts(prompt.ids[message.start : message.end])
        for index, text in enumerate(token_texts, message.start):
            token_id = prompt.ids[index]
            yield {
                "index": index,
                "id": token_id,
                "text": text,
                "bytes": token_bytes(token_id).hex(),
                "state": _state(message, index),
                "message": message.index,
                "channel": message.channel,
            }


def _state(message: PromptMessage, index: int) -> str:
    if message.state in {MessageState.CUT, MessageState.REJECTED}:
        return str(message.state)
    return "header" if index < message.body else "body"
