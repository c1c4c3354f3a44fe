"""Which generated texts arrived in their field, and the issues that this disproves."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from inspector.analysis.audit import Finding
from inspector.analysis.audit.kinds import OF_DELIVERY
from inspector.issues.catalogue.evidence import FormFacts
from inspector.issues.catalogue.issue import Issue, TextForm
from inspector.issues.catalogue.schema import Edge
from inspector.issues.findings.forms import has_parts
from inspector.protocol.harmony.contract import Segment
from inspector.protocol.harmony.states import State
from inspector.protocol.harmony.text import text_of


class GeneratedText(NamedTuple):
    """The text of one message, or where no token is known, all of one field."""

    field: str
    arrived: bool | None
    """Whether some of it arrived in the field; of a call, its name too. None for line feeds, which prove
    nothing."""
    parts: Mapping[str, str] | None = None
    """Role, channel, recipient, content type and body of its message, if that is known."""
    edges: frozenset[Edge] = frozenset()
    """Of the edges of the body that came in one event with framing, those that arrived."""
    last: bool | None = None
    """Whether no later message has text for the field, if that is known."""
    open: bool | None = None
    """Whether the response ends inside the message, if that is known."""


class Delivered:
    """The generated texts of a response, and whether they arrived; found once for all issues."""

    def __init__(self, by_choice: Sequence[FormFacts], findings: Sequence[Finding]) -> None:
        self._by_choice = by_choice
        self._findings = findings

    def disproves(self, issue: Issue) -> bool:
        """Whether a text arrived that the issue loses, or one did not that it keeps."""
        return any(
            text.arrived is arrived and _holds(form, text)
            for forms, arrived in ((issue.loses_all, True), (issue.keeps_all, False))
            for form in forms
            for text in self._texts
        )

    @cached_property
    def _texts(self) -> Sequence[GeneratedText]:
        return [text for evidence in self._by_choice for text in self._of_choice(evidence)]

    def _of_choice(self, evidence: FormFacts) -> Iterator[GeneratedText]:
        choice = evidence.choice
        for field, deltas in choice.deltas_by_field().items():
            if any(delta.text.strip() for delta in deltas):
                yield GeneratedText(field, arrived=True)
        if not evidence.ids or not choice.has_ids:
            return
        differing = self._differing(evidence)
        calls = {call.message for call in choice.expected.calls}
        all_named = sum(field.endswith(".name") for field in choice.deltas_by_field()) >= len(calls)
        for segment in choice.expected.segments:
            if segment.field is None or segment.message is None:
                continue
            message = choice.transcript.messages[segment.message]
            rest = [evidence.ids[at] for at in range(segment.start, segment.end) if not differing[at]]
            named = all_named and segment.message in calls
            yield GeneratedText(
                segment.field,
                arrived=True if named or text_of(rest).strip("\n") else None if rest else False,
                parts=evidence.parts(message),
                edges=frozenset(edge for edge in Edge if _edge_arrived(edge, segment, evidence, differing)),
                last=evidence.is_last(segment.message),
                open=not message.complete,
            )

    def _differing(self, evidence: FormFacts) -> Sequence[int]:
        """For each token of a choice, how many findings say that its text did not arrive, or not so."""
        choice, count = evidence.choice, len(evidence.ids)
        changes = [0] * (count + 1)
        for finding in self._findings:
            start, end = finding.token_start, finding.token_end
            own = (finding.choice, finding.reconstructed) == (choice.index, choice.reconstructed)
            if own and finding.kind in OF_DELIVERY and start is not None and end is not None:
                changes[min(start, count)] += 1
                changes[min(end, count)] -= 1
        return list(accumulate(changes))


def _edge_arrived(edge: Edge, segment: Segment, evidence: FormFacts, differing: Sequence[int]) -> bool:
    """Whether the text at an edge of a body arrived although its event has framing beside it."""
    at = segment.start if edge is Edge.START else segment.end - 1
    if segment.message is None or segment.start == segment.end or differing[at]:
        return False
    event = evidence.framed_edges(evidence.choice.transcript.messages[segment.message]).get(edge)
    if event is None:
        return False
    # An event that goes on in another body may have both texts in one field.
    return edge is Edge.START or evidence.states[event[-1] + 1] is not State.BODY


def _holds(form: TextForm, text: GeneratedText) -> bool:
    if form.field is not None and not form.field.expression.search(text.field):
        return False
    if form.message and (text.parts is None or not has_parts(form.message, text.parts)):
        return False
    if form.edge is not None and form.edge not in text.edges:
        return False
    return form.last in (None, text.last) and form.open in (None, text.open)
