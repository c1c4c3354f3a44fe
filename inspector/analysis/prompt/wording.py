"""Differences of a prompt as sentences."""

from collections.abc import Sequence
from typing import assert_never

from inspector.analysis.prompt.difference import PromptCode, PromptDifference
from inspector.capture.formats import clip, count, number

_QUOTED = 60


def told(one: PromptDifference) -> str:
    """One difference as a sentence."""
    name, expected, found = one.name or "", one.expected or "", one.found or ""
    match one.code:
        case PromptCode.REASONING_LOST:
            return (
                f"The reasoning in message {_request(one)} is not in the prompt, so the model continues "
                "after its tool call without it."
            )
        case PromptCode.HARMONY_AS_TEXT:
            return (
                f"Message {_request(one)}, an earlier response, contains special tokens as text "
                f"({_quoted(found)}): the client sent raw Harmony back."
            )
        case PromptCode.HARMONY_AS_TOKENS:
            return (
                f"Special tokens that message {_request(one)} spells as text are real ones in the prompt, so "
                "the text can pose as another message."
            )
        case PromptCode.MESSAGE_MISSING:
            return f"{_missing(one)} not in the prompt."
        case PromptCode.MESSAGE_CHANGED:
            texts = f"{_quoted(found)} instead of {_quoted(expected)}"
            return f"Message {_request(one)} differs in the prompt: {texts}."
        case PromptCode.MESSAGE_ADDED:
            return f"Message {_place(one)} of the prompt ({name}) is not in the request: {_quoted(found)}."
        case PromptCode.MESSAGE_MOVED:
            return f"Message {_request(one)} was moved: it is message {_place(one)} of the prompt."
        case PromptCode.HEADER_DIFFERS:
            got = f"with the {name} {_quoted(found)}, not" if found else f"without the {name}"
            more = f", and so {_are(one.times - 1)}" if one.times > 1 else ""
            return f"Message {_request(one)} is in the prompt {got} {expected}{more}."
        case PromptCode.TRUNCATED:
            return "The prompt begins in the middle of a message: its start was cut off."
        case PromptCode.INSTRUCTIONS_MISSING:
            return f"The instructions {_asked(one)} are not in the prompt."
        case PromptCode.INSTRUCTIONS_CHANGED:
            return (
                f"The instructions {_asked(one)} differ in the prompt: {_quoted(found)} "
                f"instead of {_quoted(expected)}."
            )
        case PromptCode.INSTRUCTIONS_ADDED:
            return f"The prompt has instructions that are not in the request: {_quoted(found)}."
        case PromptCode.TOOL_MISSING:
            return f"The tool {clip(name, _QUOTED)} of the request is not in the prompt."
        case PromptCode.TOOL_CHANGED:
            return f"The tool {clip(name, _QUOTED)} lacks its {expected} in the prompt."
        case PromptCode.TOOL_ADDED:
            return f"The prompt offers a tool that is not in the request: {clip(name, _QUOTED)}."
        case PromptCode.SYSTEM_MISSING:
            return "The prompt has no system message, so the model is told neither channels nor a date."
        case PromptCode.EFFORT_DIFFERS:
            got = f"says {found}" if found else "names none"
            return f"The request asks for reasoning effort {expected}; the prompt {got}."
        case PromptCode.DATE_DIFFERS:
            return f"The prompt gives {found} as the current date; the response was created on {expected}."
        case PromptCode.DATE_MISSING:
            return "The prompt gives no current date."
        case PromptCode.OPENING_MISSING:
            return "The prompt does not end with the header of a response (<|start|>assistant)."
        case PromptCode.TOKENS_REJECTED:
            return f"The reference parser rejects token {number(one.token_start or 0)} of the prompt: {found}"
        case PromptCode.PROMPT_CHANGED:
            return (
                f"The server's prompt differs from the request's from token {number(one.token_start or 0)} "
                f"on: {_quoted(found)} instead of {_quoted(expected)}."
            )
        case _:
            assert_never(one.code)


def prompt_sentence(differences: Sequence[PromptDifference], *, unknown: str, identical: bool) -> str:
    """All of it in one or two sentences: the first difference, and how many more there are."""
    if not differences:
        if unknown:
            return f"The prompt was not compared with the request: {unknown[:1].lower()}{unknown[1:]}"
        if identical:
            return "After its system message, the prompt is the reference rendering, token for token."
        return "The prompt contains what the request asks for."
    more = len(differences) - 1
    rest = f" And {count(more, 'more difference')}." if more else ""
    return told(differences[0]) + rest


def _are(amount: int) -> str:
    return f"{'is' if amount == 1 else 'are'} {count(amount, 'more message')}"


def _request(one: PromptDifference) -> str:
    return f"{number(one.request_message or 0)} of the request"


def _asked(one: PromptDifference) -> str:
    """Where instructions stand: in a message, or in a key of their own (Responses)."""
    return "of the request" if one.request_message is None else f"of message {_request(one)}"


def _place(one: PromptDifference) -> str:
    return number(one.message or 0)


def _missing(one: PromptDifference) -> str:
    first, amount = one.request_message or 0, one.request_messages or 1
    if amount > 1:
        return f"Messages {number(first)} to {number(first + amount - 1)} of the request are"
    what = f" ({one.name})" if one.name else ""
    return f"Message {_request(one)}{what} is"


def _quoted(text: str) -> str:
    return f"“{clip(text, _QUOTED)}”"
