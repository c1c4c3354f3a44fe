"""Words about turns without an answer and special tokens inside a text."""

from inspector.audit.finding import Facts, Finding
from inspector.audit.kinds import Code
from inspector.harmony.vocab import Marker

__all__ = ["below_limit_words", "ended_words", "special_token_words", "stopped_words"]


def special_token_words(finding: Finding) -> str:
    """A special token inside a body, as a clause."""
    facts = finding.facts
    missing = "; an <|end|> before it is missing" if facts.token_id == Marker.START else ""
    where = f" of a message on {facts.channel}" if facts.channel else ""
    return (
        f"the model wrote {finding.generated} inside the body{where} (token {finding.token_start:,}), where "
        f"it is text and frames nothing{missing}"
    )


def below_limit_words(facts: Facts) -> str:
    """A response that is called incomplete for a limit that it did not reach, as a clause."""
    return (
        "the response has no output, and the server blames a limit that was not reached "
        f"({facts.counted:,} of {facts.limit:,} tokens)"
    )


def ended_words(finding: Finding) -> str:
    """Where a turn without an answer ended, after "the turn"."""
    match finding.code:
        case Code.ENDED_IN_REASONING:
            return "ended in its reasoning"
        case Code.ENDED_WITH_EMPTY_ANSWER:
            return "ended with an empty answer"
        case _:
            return "ended before any text"


def stopped_words(facts: Facts) -> str:
    """The finish reason, in words."""
    return "no finish_reason" if facts.finish_reason is None else f"finish_reason: {facts.finish_reason}"
