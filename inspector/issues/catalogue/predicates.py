"""Rare conditions, by name: an entry of the catalogue that needs one says `when: [name]`, or `[not name]`.

What few entries need is a line of the tables below, and the file of entries its only other place. What many
need is a key of its own (`issue`).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import isqrt
from typing import Final, Generic, ParamSpec

from inspector.analysis.alignment import embed_or_align
from inspector.analysis.audit import Finding, FindingSide, Severity, kinds_of
from inspector.analysis.audit.missing_ids import asks_for_ids
from inspector.analysis.reading import Reading
from inspector.issues.catalogue.evidence import FormFacts, final_texts
from inspector.issues.catalogue.schema import Edge
from inspector.protocol.harmony.vocab import encode_plain

P = ParamSpec("P")

_REJECTIONS: Final = kinds_of(FindingSide.MODEL)
_TWO_TOKENS: Final = 300
"""No token of the vocabulary has this many characters."""
_AT_LIMIT: Final = frozenset({"length", "max_output_tokens"})
_BY_MODEL: Final = frozenset({"stop", "tool_calls", "completed"})
"""What `finish_reason` of chat and completions, and the status of Responses, say of the end."""


def _cut(reading: Reading) -> bool:
    end = reading.end
    return reading.stream.terminal_event is None and end is not None and end.cut and end.closed_by is None


def _open_message(finding: Finding, evidence: FormFacts) -> bool:
    message = evidence.message_at(finding.token_start)
    return message is not None and not message.complete


def _more_text_for_field(finding: Finding, evidence: FormFacts) -> bool:
    number = evidence.message_number(finding.token_start)
    return number is not None and evidence.is_last(number) is False


def _edges(finding: Finding, evidence: FormFacts) -> frozenset[Edge]:
    """The edges of its message's body that a finding is at; all where no token is known."""
    if not evidence.ids:
        return frozenset(Edge)
    message = evidence.message_at(finding.token_start)
    if message is None or finding.token_start is None or finding.token_end is None:
        return frozenset()
    start, end = max(finding.token_start, message.body), min(finding.token_end, message.body_end)
    if not evidence.tokens_by_event:  # known from elsewhere: what came in one event with the framing is not
        touched = {Edge.START: start == message.body, Edge.END: end == message.body_end}
        return frozenset(edge for edge, is_at in touched.items() if is_at)
    framed = evidence.framed_edges(message)
    if start > message.body:
        framed.pop(Edge.START, None)
    if end < message.body_end:
        framed.pop(Edge.END, None)
    begun = framed[Edge.START][-1] + 1 if Edge.START in framed else start
    ending = framed[Edge.END][0] if Edge.END in framed else end
    return frozenset(framed) if ending <= begun else frozenset()


def _event_sizes(finding: Finding, evidence: FormFacts) -> list[int]:
    if finding.event_start is None or finding.event_end is None:
        return []
    by_event = evidence.tokens_by_event
    return [len(by_event[at]) for at in range(finding.event_start, finding.event_end) if at in by_event]


def _whole_step(evidence: FormFacts) -> bool:
    """Only ASCII counts: a character of several tokens comes as one delta with the last of them."""
    return any(
        delta.text.isascii() and len(delta.text) > 1 and len(encode_plain(delta.text[:_TWO_TOKENS])) > 1
        for delta in evidence.choice.deltas
        if not delta.field.endswith(".name")
    )


def _gap_inside_message(evidence: FormFacts) -> bool:
    if evidence.ids:
        return False
    return any(
        _inside(final, [delta.text for delta in evidence.choice.deltas if delta.field == field], ends)
        for field, final, ends in final_texts(evidence.reading, evidence.choice)
    )


def _inside(final: str, deltas: Sequence[str], ends: frozenset[int]) -> bool:
    """Whether a gap of the deltas against a final text ends inside one of its messages."""
    if "".join(deltas) == final:
        return False
    gaps, _ = embed_or_align(final, deltas)
    return any(not _reaches(final, start, end, ends) for start, end, _before, _after in gaps)


def _reaches(final: str, start: int, end: int, ends: frozenset[int]) -> bool:
    """Whether a gap ends with a message, laid further on while its two edges have the same characters."""
    while end < len(final) and end not in ends and final[start] == final[end]:
        start, end = start + 1, end + 1
    return end >= len(final) or end in ends


def _second_copy(finding: Finding, evidence: FormFacts) -> bool:
    text = finding.generated or ""
    if not text or evidence.ids:
        return False
    copies = evidence.once(_copies)
    return any(
        fields - {finding.field}
        for size in _divisors(len(text))
        if (fields := copies.get(text[:size])) and text[:size] * (len(text) // size) == text
    )


def _copies(evidence: FormFacts) -> dict[str, set[str | None]]:
    """The texts of which there is another copy, with the fields that have it ("": repeated)."""
    fields_by_text: dict[str, set[str | None]] = {}
    for field, body in evidence.choice.delivered().other.items():
        fields_by_text.setdefault(body, set()).add(field)
    called = Counter(message["body"] for message in evidence.reported_messages if message["recipient"])
    for body, times in called.items():
        if times > 1:
            fields_by_text.setdefault(body, set()).add("")
    return fields_by_text


def _divisors(size: int) -> set[int]:
    low = [divisor for divisor in range(1, isqrt(size) + 1) if size % divisor == 0]
    return {*low, *(size // divisor for divisor in low)}


def _finish_reason(reading: Reading | None) -> str | None:
    return None if reading is None else reading.choice.finish_reason


OF_FINDINGS: Final[Mapping[str, Callable[[Finding, FormFacts], bool]]] = {
    "warning": lambda finding, _: finding.severity is Severity.WARNING,
    # Something was rejected that is in the stream, as the parser's message quotes it.
    "rejected_text_sent": lambda finding, evidence: (
        finding.kind in _REJECTIONS and bool(evidence.ids) and finding.sent
    ),
    # The server or the network broke the connection off.
    "connection_cut": lambda _, evidence: _cut(evidence.reading),
    # The response ended so, according to the server.
    "ended_at_limit": lambda _, evidence: evidence.choice.finish_reason in _AT_LIMIT,
    "ended_by_model": lambda _, evidence: evidence.choice.finish_reason in _BY_MODEL,
    # The message of its first token is the first of the choice; the response ends inside it; a later message
    # has text for the same field.
    "first_message": lambda finding, evidence: evidence.message_number(finding.token_start) == 0,
    "open_message": _open_message,
    "more_text_for_field": _more_text_for_field,
    # It is at that edge of its message's body, with no text but what came in one event with the framing.
    "at_start": lambda finding, evidence: Edge.START in _edges(finding, evidence),
    "at_end": lambda finding, evidence: Edge.END in _edges(finding, evidence),
    "at_edge": lambda finding, evidence: bool(_edges(finding, evidence)),
    # Whether an event at it brought several tokens; both hold where that is not known.
    "several_tokens_per_event": lambda finding, evidence: max(_event_sizes(finding, evidence), default=2) > 1,
    "token_per_event": lambda finding, evidence: max(_event_sizes(finding, evidence), default=1) == 1,
    # A delta of the choice brought the text of several tokens.
    "whole_step": lambda _, evidence: evidence.once(_whole_step),
    # Text of the choice is missing inside a message that goes on after it.
    "gap_inside_message": lambda _, evidence: evidence.once(_gap_inside_message),
    # Its text was delivered in another field too, or appears twice in the final object.
    "second_copy": _second_copy,
}
"""Conditions of a finding, by the evidence of its choice."""

OF_RESPONSES: Final[Mapping[str, Callable[[Reading | None], bool]]] = {
    "ended_at_limit": lambda reading: _finish_reason(reading) in _AT_LIMIT,
    "ended_by_model": lambda reading: _finish_reason(reading) in _BY_MODEL,
    "end_unknown": lambda reading: _finish_reason(reading) not in _AT_LIMIT | _BY_MODEL,
    # The request asks for token IDs; it offers tools. False where it is not known.
    "ids_asked": lambda reading: reading is not None and asks_for_ids(reading),
    "tools_offered": lambda reading: reading is not None and bool(reading.header.request.get("tools")),
}
"""Conditions of a response; None where only words about it are known."""


class Condition(Generic[P]):
    """A condition of a table by its name, or its opposite; ValueError for a name that the table lacks."""

    table: Mapping[str, Callable[P, bool]]

    def __init__(self, text: str) -> None:
        self.name = text.removeprefix("not ")
        self._opposite = self.name != text
        if self.name not in self.table:
            known = ", ".join(self.table)
            raise ValueError(f"{self.name!r} is not a condition here; issues/predicates.py has {known}")

    def holds(self, *about: P.args, **options: P.kwargs) -> bool:
        """Whether it holds."""
        return self.table[self.name](*about, **options) is not self._opposite


class OfFinding(Condition[[Finding, FormFacts]]):
    """One of `OF_FINDINGS`."""

    table = OF_FINDINGS


class OfResponse(Condition[["Reading | None"]]):
    """One of `OF_RESPONSES`."""

    table = OF_RESPONSES
