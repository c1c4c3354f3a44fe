"""The rules of `lint`, one table: what is wrong, how bad it is, and what to change."""

from enum import StrEnum
from typing import Final

from inspector.analysis.audit.kinds import Severity
from inspector.data.lint.advice import Advice


class Rule(StrEnum):
    """The closed set of rules, public in `lint --json`: rules are added, never renamed."""

    UNREADABLE_ROW = "unreadable_row"
    WRONG_FORM = "wrong_form"
    TOO_LONG = "too_long"

    REJECTED_TOKEN = "rejected_token"
    REJECTED_HEADER = "rejected_header"
    DOUBLE_TERMINATOR = "double_terminator"
    SPECIAL_TOKEN_IN_BODY = "special_token_in_body"
    SPELLED_SPECIAL_TOKEN = "spelled_special_token"
    SPECIAL_TOKEN_IN_MESSAGE = "special_token_in_message"

    MISPLACED_RETURN = "misplaced_return"
    END_FOR_RETURN = "end_for_return"
    MIXED_ENDINGS = "mixed_endings"
    CALL_WITHOUT_CALL_TOKEN = "call_without_call_token"
    CALL_TOKEN_WITHOUT_CALL = "call_token_without_call"
    TRUNCATED = "truncated"

    EMPTY_FINAL = "empty_final"
    MISSING_FINAL = "missing_final"
    MISSING_CHANNEL = "missing_channel"
    UNKNOWN_CHANNEL = "unknown_channel"
    RECIPIENT_SPELLING = "recipient_spelling"
    CONSTRAIN_SPELLING = "constrain_spelling"
    CALL_ON_FINAL = "call_on_final"
    ANALYSIS_KEPT = "analysis_kept"
    ANALYSIS_DROPPED = "analysis_dropped"

    UNKNOWN_ROLE = "unknown_role"
    CALL_WITHOUT_NAME = "call_without_name"
    ARGUMENTS_NOT_JSON = "arguments_not_json"
    SEVERAL_CALLS = "several_calls"
    CONTENT_AND_THINKING = "content_and_thinking"
    RESULT_WITHOUT_CALL = "result_without_call"
    CALL_WITHOUT_RESULT = "call_without_result"
    PREFIX_IN_NAME = "prefix_in_name"
    THINK_TAG = "think_tag"

    RAW_HARMONY_ANSWER = "raw_harmony_answer"
    STRIPPED_TRANSCRIPT = "stripped_transcript"
    EMPTY_ANSWER = "empty_answer"


_E: Final = Severity.ERROR
_W: Final = Severity.WARNING

RULES: Final[dict[Rule, Advice]] = {
    Rule.UNREADABLE_ROW: Advice(
        _E,
        "The row cannot be read.",
        "Write the row again, or remove it; a trainer may stop at it or skip it.",
    ),
    Rule.WRONG_FORM: Advice(
        _W,
        "The value does not have the form that its column is read as, so it was not checked.",
        "Use one form for all rows of a column, or name the columns with --text, --messages, --ids or --answer.",
    ),
    Rule.TOO_LONG: Advice(
        _W,
        "The value is longer than any context of gpt-oss, so it was not checked.",
        "Split the row; gpt-oss reads at most 131,072 tokens.",
    ),
    Rule.REJECTED_TOKEN: Advice(
        _E,
        "The reference parser rejects this token: only <|start|> may follow a closed message.",
        "Remove the text between the messages, such as a line feed of the template.",
    ),
    Rule.REJECTED_HEADER: Advice(
        _E,
        "The reference parser rejects the header of this message.",
        "Write the header as openai_harmony renders it: role, <|channel|>, channel, recipient, content type.",
    ),
    Rule.DOUBLE_TERMINATOR: Advice(
        _E,
        "A second terminator follows a closed message, such as <|end|><|return|>.",
        "Let one place write the terminator: remove <|end|> from the template, or the EOS token that the trainer "
        "appends.",
    ),
    Rule.SPECIAL_TOKEN_IN_BODY: Advice(
        _E,
        "A special token is in the body of a message, where the parser reads it as text.",
        "Close the message before it with <|end|>, or encode the text of users and tools without special tokens.",
    ),
    Rule.SPELLED_SPECIAL_TOKEN: Advice(
        _E,
        "Ordinary tokens spell a special token, so the model is not trained on the special token.",
        "Encode the framing with special tokens enabled (openai_harmony, or a tokenizer that knows them).",
    ),
    Rule.SPECIAL_TOKEN_IN_MESSAGE: Advice(
        _E,
        "The text of a message spells a special token, which becomes a real one when the rendered text is encoded.",
        "Store plain text in messages, with reasoning in its own field; let the template write the framing.",
    ),
    Rule.MISPLACED_RETURN: Advice(
        _E,
        "<|return|> closes a message that is not the last final answer of its conversation.",
        "Close messages of the history with <|end|>; only the last final answer of a training row ends in <|return|>.",
    ),
    Rule.END_FOR_RETURN: Advice(
        _E,
        "The last final answer ends in <|end|>, so the model does not learn to stop there.",
        "End it in <|return|>, as openai_harmony's render_conversation_for_training does.",
    ),
    Rule.MIXED_ENDINGS: Advice(
        _W,
        "Some rows of the column end their last final answer in <|return|> and others in <|end|>.",
        "Render all training rows the same way, with <|return|> at the end.",
    ),
    Rule.CALL_WITHOUT_CALL_TOKEN: Advice(
        _E,
        "A tool call does not end in <|call|>.",
        "End tool calls in <|call|>; the model stops there, so that the tool can run.",
    ),
    Rule.CALL_TOKEN_WITHOUT_CALL: Advice(
        _E,
        "<|call|> closes a message that is not a tool call.",
        "Add the recipient (to=functions.NAME) to the header, or close the message with <|end|>.",
    ),
    Rule.TRUNCATED: Advice(
        _E,
        "The last message has no terminator; its end is cut off or missing.",
        "Drop rows that are cut at a maximum length, and keep the terminator when you store a completion.",
    ),
    Rule.EMPTY_FINAL: Advice(
        _E,
        "The final answer is empty.",
        "Drop the row, or restore the answer; otherwise the model learns to give empty answers.",
    ),
    Rule.MISSING_FINAL: Advice(
        _E,
        "The row ends after reasoning or a preamble, without a final answer or a tool call.",
        "Drop the row, or restore the answer; it may have been lost when the response was stored.",
    ),
    Rule.MISSING_CHANNEL: Advice(
        _E,
        "A message of the assistant has no channel.",
        "Give every message of the assistant a channel: analysis, commentary or final.",
    ),
    Rule.UNKNOWN_CHANNEL: Advice(
        _E,
        "The channel is not analysis, commentary or final.",
        "Use one of the three channels; servers deliver no other.",
    ),
    Rule.RECIPIENT_SPELLING: Advice(
        _W,
        "The recipient of a tool call has no prefix such as “functions.”.",
        "Write to=functions.NAME; servers deliver a function call as a tool call only with this prefix.",
    ),
    Rule.CONSTRAIN_SPELLING: Advice(
        _E,
        "<|constrain|> is where the parser reads a recipient.",
        "Write the recipient first: <|channel|>commentary to=functions.NAME <|constrain|>json<|message|>.",
    ),
    Rule.CALL_ON_FINAL: Advice(
        _E,
        "A message of the channel final has a recipient.",
        "Put tool calls in the channel commentary; text in final is for the user.",
    ),
    Rule.ANALYSIS_KEPT: Advice(
        _W,
        "Reasoning of a finished turn is still in the history, where openai_harmony and the chat template drop it.",
        "Render the row with auto_drop_analysis, or split it into one row per turn.",
    ),
    Rule.ANALYSIS_DROPPED: Advice(
        _E,
        "The rendered row lacks the reasoning before a tool call of the unfinished turn.",
        "Keep the reasoning of the current turn until its final answer.",
    ),
    Rule.UNKNOWN_ROLE: Advice(
        _E,
        "The role of a message is not one of the roles of chat messages.",
        "Use system, developer, user, assistant or tool.",
    ),
    Rule.CALL_WITHOUT_NAME: Advice(
        _E,
        "A tool call has no function name.",
        "Store the function with its name and arguments.",
    ),
    Rule.ARGUMENTS_NOT_JSON: Advice(
        _E,
        "The arguments of a tool call are not valid JSON.",
        "Drop the row, or store the arguments as the model wrote them.",
    ),
    Rule.SEVERAL_CALLS: Advice(
        _W,
        "A message has several tool calls; the chat template of gpt-oss renders only the first.",
        "Use one message for each call, each followed by its result.",
    ),
    Rule.CONTENT_AND_THINKING: Advice(
        _W,
        "A message with a tool call has both content and thinking, which the chat template of gpt-oss rejects.",
        "Keep one of the two, or make two messages.",
    ),
    Rule.RESULT_WITHOUT_CALL: Advice(
        _E,
        "No earlier message has the call that a tool result is for.",
        "Keep the assistant message with the call, and the ID of the call.",
    ),
    Rule.CALL_WITHOUT_RESULT: Advice(
        _W,
        "A tool call has no result, but the conversation goes on.",
        "Keep the tool message of each call before the next message, or drop the row.",
    ),
    Rule.PREFIX_IN_NAME: Advice(
        _E,
        "The name of a tool has the prefix “functions.”, which the chat template writes again.",
        "Store the bare name; the template writes to=functions.NAME.",
    ),
    Rule.THINK_TAG: Advice(
        _W,
        "The text has reasoning in <think> tags, which are ordinary text to gpt-oss.",
        "Store the reasoning in its own field (thinking or reasoning), or take it out of the text.",
    ),
    Rule.RAW_HARMONY_ANSWER: Advice(
        _E,
        "The scored text is raw Harmony with special tokens, not the answer alone.",
        "Score only the final channel: parse the token IDs with openai_harmony, or let the server do it "
        "(with its reasoning parser), and score again.",
    ),
    Rule.STRIPPED_TRANSCRIPT: Advice(
        _E,
        "The text is a Harmony transcript without its special tokens (analysis…assistantfinal…).",
        "Decode with skip_special_tokens=False and parse, or keep the token IDs; for text that is stored already, the "
        "answer follows the last “assistantfinal”.",
    ),
    Rule.EMPTY_ANSWER: Advice(
        _W,
        "The scored text is empty.",
        "Check whether the response ended before its final answer (max_tokens) or a filter removed it.",
    ),
}
"""One row for each rule."""
