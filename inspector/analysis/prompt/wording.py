"""Differences of a prompt as sentences."""

from collections.abc import Sequence
from typing import assert_never

from inspector.analysis.prompt.difference import PromptCode, PromptDifference
from inspector.capture.formats import clip, count, number

_QUOTED = 60


def difference_sentence(difference: PromptDifference) -> str:
    """One difference as a sentence."""
    name, expected, actual = difference.name or "", difference.expected or "", difference.found or ""
    match difference.code:
        case PromptCode.REASONING_LOST:
            return (
                f"The reasoning in message {_request(difference)} is not in the prompt, so the model "
                "continues after its tool call without it."
            )
        case PromptCode.HARMONY_AS_TEXT:
            return (
                f"Message {_request(difference)}, an earlier response, contains special tokens as text "
                f"({_quoted(actual)}): the client sent raw Harmony back."
            )
        case PromptCode.HARMONY_AS_TOKENS:
            return (
                f"Special tokens that message {_request(difference)} spells as text are real ones in the "
                "prompt, so the text can pose as another message."
            )
        case PromptCode.MESSAGE_MISSING:
            return f"{_missing(difference)} not in the prompt."
        case PromptCode.MESSAGE_CHANGED:
            texts = f"{_quoted(actual)} instead of {_quoted(expected)}"
            return f"Message {_request(difference)} differs in the prompt: {texts}."
        case PromptCode.MESSAGE_ADDED:
            place = f"Message {_place(difference)} of the prompt ({name})"
            return f"{place} is not in the request: {_quoted(actual)}."
        case PromptCode.MESSAGE_MOVED:
            return (
                f"Message {_request(difference)} was moved: it is message {_place(difference)} of the prompt."
            )
        case PromptCode.HEADER_DIFFERS:
            actual_words = f"with the {name} {_quoted(actual)}, not" if actual else f"without the {name}"
            repeats = f", and so {_are(difference.times - 1)}" if difference.times > 1 else ""
            return f"Message {_request(difference)} is in the prompt {actual_words} {expected}{repeats}."
        case PromptCode.TRUNCATED:
            return "The prompt begins in the middle of a message: its start was cut off."
        case PromptCode.INSTRUCTIONS_MISSING:
            return f"The instructions {_asked(difference)} are not in the prompt."
        case PromptCode.INSTRUCTIONS_CHANGED:
            return (
                f"The instructions {_asked(difference)} differ in the prompt: {_quoted(actual)} "
                f"instead of {_quoted(expected)}."
            )
        case PromptCode.INSTRUCTIONS_ADDED:
            return f"The prompt has instructions that are not in the request: {_quoted(actual)}."
        case PromptCode.TOOL_MISSING:
            return f"The tool {clip(name, _QUOTED)} of the request is not in the prompt."
        case PromptCode.TOOL_CHANGED:
            return f"The tool {clip(name, _QUOTED)} lacks its {expected} in the prompt."
        case PromptCode.TOOL_ADDED:
            return f"The prompt offers a tool that is not in the request: {clip(name, _QUOTED)}."
        case PromptCode.SYSTEM_MISSING:
            return "The prompt has no system message, so the model is told neither channels nor a date."
        case PromptCode.EFFORT_DIFFERS:
            actual_words = f"says {actual}" if actual else "names none"
            return f"The request asks for reasoning effort {expected}; the prompt {actual_words}."
        case PromptCode.DATE_DIFFERS:
            return f"The prompt gives {actual} as the current date; the response was created on {expected}."
        case PromptCode.DATE_MISSING:
            return "The prompt gives no current date."
        case PromptCode.OPENING_MISSING:
            return "The prompt does not end with the header of a response (<|start|>assistant)."
        case PromptCode.TOKENS_REJECTED:
            return f"The reference parser rejects token {_token(difference)} of the prompt: {actual}"
        case PromptCode.PROMPT_CHANGED:
            return (
                f"The server's prompt differs from the request's from token {_token(difference)} "
                f"on: {_quoted(actual)} instead of {_quoted(expected)}."
            )
        case _:
            assert_never(difference.code)


def prompt_sentence(differences: Sequence[PromptDifference], *, unknown: str, identical: bool) -> str:
    """All of it in one or two sentences: the first difference, and how many more there are."""
    if not differences:
        if unknown:
            return f"The prompt was not compared with the request: {unknown[:1].lower()}{unknown[1:]}"
        if identical:
            return "After its system message, the prompt is the reference rendering, token for token."
        return "The prompt contains what the request asks for."
    unlisted = len(differences) - 1
    rest = f" And {count(unlisted, 'more difference')}." if unlisted else ""
    return difference_sentence(differences[0]) + rest


def _are(amount: int) -> str:
    return f"{'is' if amount == 1 else 'are'} {count(amount, 'more message')}"


def _token(difference: PromptDifference) -> str:
    return number(difference.token_start or 0)


def _request(difference: PromptDifference) -> str:
    return f"{number(difference.request_message or 0)} of the request"


def _asked(difference: PromptDifference) -> str:
    """Where instructions stand: in a message, or in a key of their own (Responses)."""
    return "of the request" if difference.request_message is None else f"of message {_request(difference)}"


def _place(difference: PromptDifference) -> str:
    return number(difference.message or 0)


def _missing(difference: PromptDifference) -> str:
    first, amount = difference.request_message or 0, difference.request_messages or 1
    if amount > 1:
        return f"Messages {number(first)} to {number(first + amount - 1)} of the request are"
    name = f" ({difference.name})" if difference.name else ""
    return f"Message {_request(difference)}{name} is"


def _quoted(text: str) -> str:
    return f"“{clip(text, _QUOTED)}”"
