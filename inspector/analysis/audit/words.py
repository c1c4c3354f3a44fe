"""What the sentences about findings share: fields, spans, amounts and texts as words."""

import json
from collections.abc import Sequence
from typing import Final

from inspector.analysis.audit.finding import Finding
from inspector.analysis.reading import ChoiceReading
from inspector.capture.formats import clip, count, listed


def field_words(field: str | None) -> str:
    """A field as a sentence calls it."""
    match field:
        case None:
            return "no field"
        case "reasoning":
            return "the reasoning"
        case "content":
            return "the answer (content)"
        case "text" | "refusal":
            return f"the {field}"
        case _ if field.startswith("tool_calls["):
            number = int(field[len("tool_calls[") : field.index("]")])
            return f"the {field.rsplit('.', 1)[-1]} of tool call {number + 1}"
        case _:
            return field


def tokens_words(start: int, end: int) -> str:
    """A span as a sentence calls it, e.g. `token 21`, `tokens 4 to 5`."""
    return f"token {start:,}" if end - start == 1 else f"tokens {start:,} to {end - 1:,}"


def quote(text: str, limit: int = 60) -> str:
    """A text as a sentence quotes it, cut at `limit` characters."""
    return f"“{clip(text, limit)}”"


counted: Final = count

joined: Final = listed


def amount(findings: Sequence[Finding], of: str = "") -> str:
    """How much text, in tokens where they are known, else in characters; `of` goes before the unit."""
    unit = f"{of} " if of else ""
    if all(finding.token_start is not None and finding.token_end is not None for finding in findings):
        number = sum((finding.token_end or 0) - (finding.token_start or 0) for finding in findings)
        return counted(number, f"{unit}token")
    return counted(
        sum(len(finding.generated or finding.delivered or "") for finding in findings), f"{unit}character"
    )


def per_field(findings: Sequence[Finding], joint: str) -> list[str]:
    """How much in which field, e.g. `2 tokens of the reasoning`, `1 token of the answer (content)`."""
    groups: dict[str | None, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.field, []).append(finding)
    return [f"{amount(group)} {joint} {field_words(field)}" for field, group in groups.items()]


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
