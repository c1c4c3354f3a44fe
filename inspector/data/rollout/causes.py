"""Why a prompt does not extend the tokens before it, one table: whether that is expected, and what to change."""

from enum import StrEnum
from typing import Final

from inspector.analysis.audit.kinds import Severity
from inspector.data.lint.advice import Advice


class Cause(StrEnum):
    """The closed set of causes, public in `rollout --json`: causes are added, never renamed."""

    ANALYSIS_DROPPED = "analysis_dropped"
    RETURN_REPLACED = "return_replaced"
    RESAMPLED = "resampled"

    ANALYSIS_LOST = "analysis_lost"
    RETOKENIZED = "retokenized"
    ARGUMENTS_REWRITTEN = "arguments_rewritten"
    HEADER_REWRITTEN = "header_rewritten"
    TERMINATOR_CHANGED = "terminator_changed"
    DATE_CHANGED = "date_changed"
    SYSTEM_CHANGED = "system_changed"
    DEVELOPER_CHANGED = "developer_changed"
    MESSAGE_TRUNCATED = "message_truncated"
    MESSAGE_CHANGED = "message_changed"
    MESSAGE_MISSING = "message_missing"
    MESSAGE_ADDED = "message_added"
    HISTORY_TRUNCATED = "history_truncated"


_E: Final = Severity.ERROR
_W: Final = Severity.WARNING
"""What the format of gpt-oss itself does."""

CAUSES: Final[dict[Cause, Advice]] = {
    Cause.ANALYSIS_DROPPED: Advice(
        _W,
        "The chat template dropped the reasoning of a finished turn.",
        "Expected for gpt-oss. Train each turn as a sequence of its own, or end the sequence at the final answer.",
    ),
    Cause.RETURN_REPLACED: Advice(
        _W,
        "The final answer ended in <|return|> and is closed by <|end|> in the history.",
        "Expected for gpt-oss. Train each turn as a sequence of its own, or end the sequence at the final answer.",
    ),
    Cause.RESAMPLED: Advice(
        _W,
        "The next turn has the same prompt: it is another sample, not a later turn.",
        "Record an id for each conversation and name it with --group.",
    ),
    Cause.ANALYSIS_LOST: Advice(
        _E,
        "Reasoning of an unfinished turn is missing.",
        "Send the reasoning back with the tool call (the field reasoning or reasoning_content) until the final answer.",
    ),
    Cause.RETOKENIZED: Advice(
        _E,
        "The same text was encoded to other tokens than the model sampled.",
        "Build the next prompt from the sampled token IDs and encode only what is new.",
    ),
    Cause.ARGUMENTS_REWRITTEN: Advice(
        _E,
        "The arguments of a tool call are the same JSON in another spelling.",
        "Keep the arguments as the string that the model wrote; do not parse and serialize them.",
    ),
    Cause.HEADER_REWRITTEN: Advice(
        _E,
        "The header of a message differs from the one that the model wrote.",
        "Build the next prompt from the sampled token IDs; templates write recipient and content type in one way only.",
    ),
    Cause.TERMINATOR_CHANGED: Advice(
        _E,
        "A message ends in another terminator.",
        "Keep the terminator that the model sampled; only <|return|> becomes <|end|> in a history.",
    ),
    Cause.DATE_CHANGED: Advice(
        _E,
        "The date in the system message changed.",
        "Set a fixed date for the whole conversation, for example in a system message of your own.",
    ),
    Cause.SYSTEM_CHANGED: Advice(
        _E,
        "The system message changed.",
        "Send the same system settings (model identity, reasoning effort, tools) with every turn.",
    ),
    Cause.DEVELOPER_CHANGED: Advice(
        _E,
        "The developer message changed: instructions or tools.",
        "Send the same instructions and the same tools in the same order with every turn.",
    ),
    Cause.MESSAGE_TRUNCATED: Advice(
        _E,
        "The next prompt has only the beginning of a message.",
        "Raise the limit of the client or the environment that cuts texts.",
    ),
    Cause.MESSAGE_CHANGED: Advice(
        _E,
        "The text of a message changed.",
        "Find what edits texts between the turns: a parser, a filter, or stripping of white space.",
    ),
    Cause.MESSAGE_MISSING: Advice(
        _E,
        "A message is missing in the next prompt.",
        "Send the whole history with every turn.",
    ),
    Cause.MESSAGE_ADDED: Advice(
        _E,
        "The next prompt has an additional message among those that the model had seen.",
        "Append new messages only at the end.",
    ),
    Cause.HISTORY_TRUNCATED: Advice(
        _E,
        "The oldest messages are missing in the next prompt.",
        "Raise the context limit, or start a new sequence where the history is shortened.",
    ),
}
"""One row for each cause."""
