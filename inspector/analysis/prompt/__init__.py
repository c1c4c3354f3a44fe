"""The prompt that a server made of a request: its tokens as messages, and how it differs from the request."""

from inspector.analysis.prompt.difference import PromptCode, PromptDifference, PromptSeverity
from inspector.analysis.prompt.first import FirstDifference, PromptPlace, first_difference, headline
from inspector.analysis.prompt.messages import MessageState, PromptMessage
from inspector.analysis.prompt.prompt import Prompt, prompt_of
from inspector.analysis.prompt.rendering import render
from inspector.analysis.prompt.requested import requested_by_chat
from inspector.analysis.prompt.source import PromptSource, known_ids, prompt_ids
from inspector.analysis.prompt.wording import difference_sentence

__all__ = [
    "FirstDifference",
    "MessageState",
    "Prompt",
    "PromptCode",
    "PromptDifference",
    "PromptMessage",
    "PromptPlace",
    "PromptSeverity",
    "PromptSource",
    "difference_sentence",
    "first_difference",
    "headline",
    "known_ids",
    "prompt_ids",
    "prompt_of",
    "render",
    "requested_by_chat",
]
