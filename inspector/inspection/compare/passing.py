"""Compares the response that a gateway received with the response that it sent on, field by field."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from inspector.analysis.reading import ChoiceReading, Reading
from inspector.capture.capture import ClosedBy
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
    **dict.fromkeys(
        ("stop", "tool_calls", "completed", "end_turn", "stop_sequence", "tool_use"), "the turn's end"
    ),
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

    Token IDs and Harmony messages that the gateway leaves out are named and are no loss of text. What a side
    lacks because its recording ended there, or its client left, is not the gateway's doing.
    """
    errors, sent_errors = _errors(received), _errors(sent)
    received_to_end = _is_whole(received) or _left_by_client(received)
    sent_to_end = _is_whole(sent)
    if sent_errors and not errors and received_to_end:
        outcome = PassingOutcome.ERROR if _asked(sent) else PassingOutcome.REJECTED
        return Passing(outcome, clip(sent_errors[0], _SHOWN))
    texts, sent_texts = _texts(received), _texts(sent)
    other_endpoint = received.spec is not sent.spec
    differing = {
        name: (before, after)
        for name in {**texts, **sent_texts}
        if (before := texts.get(name, "")) != (after := sent_texts.get(name, ""))
        and not (other_endpoint and ".arguments" in name and _same_json(before, after))
        and not (not sent_to_end and before.startswith(after))
        and not (not received_to_end and after.startswith(before))
    }
    words = [_field_words(name, *pair) for name, pair in differing.items()]
    if errors and not sent_errors and sent_to_end:
        words.insert(0, "the error is not passed on")
    elif not errors and received_to_end and sent_to_end:
        words += _other_ends(received, sent)
    notes = [] if sent_errors or not sent_to_end else _lost_evidence(received.choice, sent.choice)
    if not (received_to_end and sent_to_end):
        notes.append("compared as far as both were recorded")
    if not words:
        return Passing(PassingOutcome.SAME, "; ".join(notes))
    lost = all(_is_part(after, before) for before, after in differing.values())
    outcome = PassingOutcome.LOST if lost and (differing or errors) else PassingOutcome.CHANGED
    return Passing(outcome, "; ".join(words + notes))


def _asked(sent: Reading) -> bool:
    """Whether the gateway asked the server at all; only the lab can say that it did not."""
    lab = sent.header.extra.get("lab")
    return not isinstance(lab, dict) or lab.get("asked") is not False


def _is_whole(reading: Reading) -> bool:
    """Whether the recording goes to the end of the response, or to where its server broke it off."""
    if reading.unread:
        return False
    if reading.stream.terminal_event is not None:
        return True
    return reading.end is not None and not reading.end.stopped and reading.end.closed_by is None


def _left_by_client(reading: Reading) -> bool:
    """On the server's side the client is the gateway."""
    return reading.end is not None and reading.end.closed_by is ClosedBy.CLIENT and not reading.unread


def _texts(reading: Reading) -> dict[str, str]:
    """Delivered texts by field, of each choice."""
    return {
        f"{name}{_of_choice(choice)}": text
        for choice in reading.choices
        for name, text in choice.delivered().by_field().items()
    }


def _of_choice(choice: ChoiceReading) -> str:
    return f" of choice {choice.index}" if choice.index else ""


def _lost_evidence(received: ChoiceReading, sent: ChoiceReading) -> list[str]:
    if received.has_ids and not sent.has_ids:
        return ["token IDs are not passed on"]
    if received.rebuilt is not None and sent.rebuilt is None:
        return ["Harmony messages are not passed on"]
    return []


def _other_ends(received: Reading, sent: Reading) -> Iterator[str]:
    """The ends that differ; where the two sides are different endpoints, by what they mean."""
    meanings = _ENDS if received.spec is not sent.spec else {}
    before, after = (
        {
            _of_choice(choice): meanings.get(end := choice.finish_reason or "none", end)
            for choice in side.choices
        }
        for side in (received, sent)
    )
    for choice in {**before, **after}:
        if before.get(choice, "none") != after.get(choice, "none"):
            yield f"end{choice}: {before.get(choice, 'none')}, sent on as {after.get(choice, 'none')}"


def _errors(reading: Reading) -> list[str]:
    errors = [error.message for error in reading.stream.errors]
    status = reading.header.status or 200
    if not errors and status >= 400:
        errors = [f"HTTP {status}"]
    end = reading.end
    broken = end is not None and end.cut and not end.stopped and end.closed_by is None
    if not errors and broken and reading.stream.terminal_event is None:
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
