"""What the findings share: fields, spans and texts as a sentence says them, and the events of tokens."""

import json

from inspector.formats import clip
from inspector.reading import ChoiceReading

__all__ = ["events_of", "field_words", "is_json", "quote", "tokens_words"]


def field_words(field: str | None) -> str:
    """A field as a sentence calls it."""
    match field:
        case None:
            return "no field"
        case "reasoning":
            return "the reasoning"
        case "content":
            return "the answer (content)"
        case "text":
            return "the text"
        case _ if field.startswith("tool_calls["):
            number = int(field[len("tool_calls[") : field.index("]")])
            return f"the {field.rsplit('.', 1)[-1]} of tool call {number + 1}"
        case _:
            return field


def tokens_words(start: int, end: int) -> str:
    """A span as a sentence calls it, e.g. `token 21`, `tokens 4 to 5`."""
    return f"token {start}" if end - start == 1 else f"tokens {start} to {end - 1}"


def quote(text: str, limit: int = 60) -> str:
    """A text as a sentence quotes it, cut at `limit` characters."""
    return f"“{clip(text, limit)}”"


def is_json(text: str) -> bool:
    """True for text that parses as JSON; nesting deeper than Python reads counts as not."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def events_of(choice: ChoiceReading, start: int, end: int) -> tuple[int | None, int | None]:
    """Events that brought some tokens, half-open; None when no event did."""
    events = choice.tokens.events[start:end]
    if not events or events[0] < 0:
        return None, None
    return events[0], events[-1] + 1
