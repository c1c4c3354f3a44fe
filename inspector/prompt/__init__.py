"""The prompt that a server made of a request: its tokens as messages, and how it differs from the request."""

from inspector.prompt.asked import asked
from inspector.prompt.difference import PromptCode, PromptDifference, PromptSeverity
from inspector.prompt.first import FirstDifference, PromptPlace, first_difference, headline
from inspector.prompt.messages import MessageState, PromptMessage
from inspector.prompt.prompt import Prompt, prompt_of
from inspector.prompt.rendering import render
from inspector.prompt.source import PromptSource, known_ids, prompt_ids
from inspector.prompt.wording import told

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
    "asked",
    "first_difference",
    "headline",
    "known_ids",
    "prompt_ids",
    "prompt_of",
    "render",
    "told",
]
