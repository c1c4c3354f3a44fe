"""Words about turns without an answer and special tokens inside a text."""

from inspector.analysis.audit.finding import Facts, Finding
from inspector.analysis.audit.kinds import Code
from inspector.analysis.audit.words import quote
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import Marker


def special_token_words(finding: Finding) -> str:
    """A special token inside a body, or an ID outside the vocabulary, as a clause."""
    facts = finding.facts
    missing = "; the <|end|> before it is missing" if facts.token_id == Marker.START else ""
    where = f" of a message on the {facts.channel} channel" if facts.channel else ""
    if not text_of([facts.token_id or 0]):
        return (
            f"{finding.generated} inside the body{where} (token {finding.token_start:,}) is not in the "
            "vocabulary and has no text"
        )
    return (
        f"the model wrote {finding.generated} inside the body{where} (token {finding.token_start:,}), where "
        f"it is ordinary text{missing}"
    )


def below_limit_words(facts: Facts) -> str:
    """A response that is called incomplete for a limit that it did not reach, as a clause."""
    return (
        "the response has no output, and the server reports a limit that was not reached "
        f"({facts.counted:,} of {facts.limit:,} tokens)"
    )


def ended_words(finding: Finding) -> str:
    """Where a response without an answer ended, after "the response"."""
    match finding.code:
        case Code.ENDED_IN_REASONING:
            return "ended after its reasoning, without an answer or a tool call"
        case Code.ENDED_WITH_EMPTY_ANSWER:
            return "ended with an empty answer and no tool call"
        case Code.ENDED_WITH_UNSHOWN_CALL:
            tool = quote(finding.facts.name or "")
            return f"ended with a call of {tool}, but has neither an answer nor a tool call"
        case _:
            return "ended without an answer or a tool call"


def stopped_words(facts: Facts) -> str:
    """The finish reason, in words."""
    return "no finish_reason" if facts.finish_reason is None else f"finish_reason: {facts.finish_reason}"
