"""Flat rows of a prompt for `audit --json`, `tokens --prompt` and the pages."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from inspector.analysis.audit.verdict import Level
from inspector.analysis.prompt import (
    MessageState,
    Prompt,
    PromptDifference,
    PromptMessage,
    PromptSeverity,
    difference_sentence,
)
from inspector.capture.formats import count
from inspector.protocol.harmony.text import texts
from inspector.protocol.harmony.vocab import token_bytes
from inspector.views.summary import Summary


def headline_with_prompt(summary: Summary, severities: Iterable[PromptSeverity]) -> str:
    """The headline; that of a clean capture names the prompt's warnings, which are listed below it."""
    warnings = list(severities).count(PromptSeverity.WARNING)
    if summary.level is not Level.CLEAN or not warnings:
        return summary.headline
    return f"{summary.headline} The prompt has {count(warnings, 'warning')}, see below."


def prompt_warnings(prompt: Prompt) -> list[str]:
    """The warnings about a prompt, in sentences."""
    return [
        difference_sentence(difference)
        for difference in prompt.differences
        if difference.severity is PromptSeverity.WARNING
    ]


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
