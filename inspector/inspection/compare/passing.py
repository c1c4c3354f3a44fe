"""Compares the response that a gateway received with the response that it sent on, field by field."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from inspector.analysis.reading import ChoiceReading, Reading
from inspector.capture.formats import clip
from inspector.protocol.wire.stream import loads

_SHOWN: Final = 120


class PassingOutcome(StrEnum):
    """How a gateway passed a response on."""

    SAME = "same"
    """The same texts, and the same end."""
    REJECTED = "rejected"
    """The client gets an error, and the server was not asked."""
    ERROR = "error"
    """The client gets an error that the server did not send."""
    LOST = "lost"
    """Text, or the error of the server, is missing."""
    CHANGED = "changed"
    """Other text, or another end."""


_ENDS: Final = {
    **dict.fromkeys(("stop", "tool_calls", "completed", "end_turn", "tool_use"), "the turn's end"),
    **dict.fromkeys(("length", "max_output_tokens", "max_tokens"), "the token limit"),
}
"""What the endpoints call the end of a response."""


@dataclass(frozen=True, slots=True)
class Passing:
    """What differs between the two sides of a gateway."""

    outcome: PassingOutcome
    words: str = ""
    """By field, what differs; the error where the gateway sent one."""


def passing(received: Reading, sent: Reading) -> Passing:
    """Compare the response that a gateway received with what it sent on.

    Token IDs and Harmony messages that the gateway leaves out are named and are no loss of text.
    """
    errors, sent_errors = _errors(received), _errors(sent)
    if sent_errors and not errors:
        return Passing(PassingOutcome.ERROR, clip(sent_errors[0], _SHOWN))
    texts, sent_texts = (side.choice.delivered().by_field() for side in (received, sent))
    differing = {
        name: (before, after)
        for name in {**texts, **sent_texts}
        if (before := texts.get(name, "")) != (after := sent_texts.get(name, ""))
        and not (received.spec is not sent.spec and _same_json(before, after))
    }
    words = [_field_words(name, *pair) for name, pair in differing.items()]
    if errors and not sent_errors:
        words.insert(0, "the server's error is not passed on")
    elif not errors and (end := _end(received, sent)) != (sent_end := _end(sent, received)):
        words.append(f"end: {end}, sent on as {sent_end}")
    evidence = "" if sent_errors else _lost_evidence(received.choice, sent.choice)
    if not words:
        return Passing(PassingOutcome.SAME, evidence)
    words += [evidence] if evidence else []
    lost = all(_is_part(after, before) for before, after in differing.values())
    outcome = PassingOutcome.LOST if lost and (differing or errors) else PassingOutcome.CHANGED
    return Passing(outcome, "; ".join(words))


def _lost_evidence(received: ChoiceReading, sent: ChoiceReading) -> str:
    if received.has_ids and not sent.has_ids:
        return "token IDs are not passed on"
    if received.rebuilt is not None and sent.rebuilt is None:
        return "Harmony messages are not passed on"
    return ""


def _end(reading: Reading, other: Reading) -> str:
    """The end of a response; where the two sides are different endpoints, what it means."""
    reason = reading.choice.finish_reason or "none"
    return reason if reading.spec is other.spec else _ENDS.get(reason, reason)


def _errors(reading: Reading) -> list[str]:
    errors = [error.message for error in reading.stream.errors]
    status = reading.header.status or 200
    if not errors and status >= 400:
        errors = [f"HTTP {status}"]
    if not errors and reading.end is not None and reading.end.cut:
        errors = ["the connection was closed before the response ended"]
    return errors


def _same_json(before: str, after: str) -> bool:
    """Whether two texts are the same JSON: another endpoint may have an object in place of a text."""
    return (value := loads(before)) is not None and value == loads(after)


def _is_part(part: str, text: str) -> bool:
    """Whether a text is the other with characters removed."""
    characters = iter(text)
    return all(character in characters for character in part)


def _field_words(name: str, before: str, after: str) -> str:
    if not after:
        return f"{name}: {len(before):,} characters are lost"
    if not before:
        return f"{name}: {len(after):,} characters are new"
    if _is_part(after, before):
        return f"{name}: {len(before) - len(after):,} of {len(before):,} characters are lost"
    return f"{name}: other text"
