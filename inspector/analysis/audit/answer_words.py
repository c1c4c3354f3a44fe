"""Words about turns without an answer and special tokens inside a text."""

from typing import assert_never

from inspector.analysis.audit.facts import BelowLimit, EndWithoutAnswer, SpecialToken
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import Code
from inspector.analysis.audit.words import quote
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import Marker


def special_token_words(finding: Finding, facts: SpecialToken) -> str:
    """A special token inside a body, or an ID outside the vocabulary, as a clause."""
    missing = "; the <|end|> before it is missing" if facts.token_id == Marker.START else ""
    where = f" of a message on the {facts.channel} channel" if facts.channel else ""
    if not text_of([facts.token_id]):
        return (
            f"{finding.generated} inside the body{where} (token {finding.token_start:,}) is not in the "
            "vocabulary and has no text"
        )
    return (
        f"the model wrote {finding.generated} inside the body{where} (token {finding.token_start:,}), where "
        f"it is ordinary text{missing}"
    )


def below_limit_words(facts: BelowLimit) -> str:
    """A response that is called incomplete for a limit that it did not reach, as a clause."""
    return (
        "the response has no output, and the server reports a limit that was not reached "
        f"({facts.counted:,} of {facts.limit:,} tokens)"
    )


def ended_words(facts: EndWithoutAnswer) -> str:
    """Where a response without an answer ended, and its finish reason, after "the response"."""
    finish_reason = finish_reason_words(facts.finish_reason)
    match facts.code:
        case Code.ENDED_IN_REASONING:
            return f"ended after its reasoning, without an answer or a tool call ({finish_reason})"
        case Code.ENDED_WITH_EMPTY_ANSWER:
            return f"ended with an empty answer and no tool call ({finish_reason})"
        case Code.ENDED_WITH_UNSHOWN_CALL:
            tool = quote(facts.name or "")
            return f"ended with a call of {tool}, but has neither an answer nor a tool call ({finish_reason})"
        case Code.ENDED_WITHOUT_TEXT:
            return f"ended without an answer or a tool call ({finish_reason})"
        case _:
            assert_never(facts.code)


def finish_reason_words(finish_reason: str | None) -> str:
    """The finish reason, in words."""
    return "no finish_reason" if finish_reason is None else f"finish_reason: {finish_reason}"
