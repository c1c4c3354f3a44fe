"""Where the texts of a response differ: each difference with the text around it, and what no field has.

No difference is left out because the texts before it are long or equal: an excerpt begins at its difference.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from inspector.analysis.audit.facts import UnexplainedCount
from inspector.analysis.audit.kinds import Code
from inspector.analysis.audit.rejection import is_rejection
from inspector.analysis.reading import ChoiceReading
from inspector.capture.deltas import is_tool_name
from inspector.capture.formats import clip, count
from inspector.inspection.compare import DiffPart, StretchKind, diff
from inspector.protocol.harmony.text import text_of
from inspector.views.audit_result import AuditResult

_ROWS: Final = 4
_SHOWN: Final = 160
"""Characters of all excerpts after which only a first difference of a field follows."""
_AROUND: Final = 30
"""Characters beside a difference."""
_EXCERPT: Final = 80
"""Characters of an excerpt after which the next difference has one of its own."""
_MARKED: Final = 120
"""Characters of one difference."""
_NAME: Final = 40

Part: TypeAlias = tuple[Literal["same", "mark", "gap", "fold", "note"], str]
"""A style and a text: of both sides, of this one, of the other (empty), how much is folded, our own words."""


class Excerpt(NamedTuple):
    """A difference, or some close together, on both sides."""

    left: Sequence[Part]
    right: Sequence[Part]


class FieldDifferences(NamedTuple):
    """The differences of a field, or of what no field has."""

    label: str
    excerpts: Sequence[Excerpt]


class Differences(NamedTuple):
    """The first differences of each field."""

    fields: Sequence[FieldDifferences]
    more: int
    """Excerpts that are not among them."""


def differences(result: AuditResult) -> Differences:
    """What the model wrote beside what the client got, where the two differ."""
    fields = [
        FieldDifferences(row.label, excerpts(row.generated or "", row.delivered or ""))
        for row in result.fields
        # The name of a call that did not arrive is in the label of its arguments.
        if row.state.equal is False and not (is_tool_name(row.field) and not row.delivered)
    ]
    fields += _in_no_field(result)
    # In turns, so that each field has its first difference.
    turns = sorted((turn, place) for place, field in enumerate(fields) for turn in range(len(field.excerpts)))
    amounts, size = [0] * len(fields), 0
    for turn, place in turns[:_ROWS]:
        if turn and size > _SHOWN:
            break
        amounts[place] += 1
        size += sum(
            len(text) for side in fields[place].excerpts[turn] for style, text in side if style != "fold"
        )
    shown = [
        FieldDifferences(field.label, field.excerpts[:amount])
        for field, amount in zip(fields, amounts, strict=True)
        if amount
    ]
    return Differences(shown, len(turns) - sum(amounts))


def excerpts(left: str, right: str) -> list[Excerpt]:
    """The differences of two texts; with what they fold, the excerpts are the whole texts."""
    rows: list[Excerpt] = []
    row, size = Excerpt([], []), 0
    pieces = diff(left, right)
    for place, piece in enumerate(pieces):
        if piece.lane is not StretchKind.SAME:
            row = Excerpt([*row.left, *_marked(piece.left)], [*row.right, *_marked(piece.right)])
            size += min(_MARKED, max(len(piece.left), len(piece.right)))
            continue
        first, last = place == 0, place == len(pieces) - 1
        if len(piece.left) <= 2 * _AROUND and (last or size <= _EXCERPT):
            row, size = _both(row, [("same", piece.left)]), size + len(piece.left)
            continue
        head, hidden, tail = _around(piece, first=first, last=last)
        fold: list[Part] = [("fold", count(hidden, "character"))] if hidden else []
        if head:
            row = _both(row, [("same", head)])
        if last:
            row = _both(row, fold)
            continue
        if not first:
            rows.append(row)
        row, size = Excerpt([], []), len(tail)
        if tail:
            row = _both(row, [*fold, ("same", tail)])
    return [*rows, row] if pieces else []


def _both(row: Excerpt, parts: Sequence[Part]) -> Excerpt:
    return Excerpt([*row.left, *parts], [*row.right, *parts])


def _marked(text: str) -> list[Part]:
    if not text:
        return [("gap", "")]
    hidden = len(text) - _MARKED
    if hidden <= 0:
        return [("mark", text)]
    return [("mark", text[:_MARKED]), ("fold", count(hidden, "character"))]


def _around(piece: DiffPart, *, first: bool, last: bool) -> tuple[str, int, str]:
    """What two neighbouring excerpts keep of a text between them, and how much neither has; cut at words."""
    text = piece.left
    if len(text) <= 2 * _AROUND:
        return text, 0, ""
    head, tail = ("" if first else text[:_AROUND]), ("" if last else text[-_AROUND:])
    if (end := head.rfind(" ")) > _AROUND // 2:
        head = head[:end]
    if 0 < (start := tail.find(" ")) < _AROUND // 2:
        tail = tail[start:]
    return head, len(text) - len(head) - len(tail), tail


def _in_no_field(result: AuditResult) -> Iterator[FieldDifferences]:
    """What the server's parser rejected, and tokens that the server counted and put nowhere."""
    inspection, choice = result.inspection, result.choice
    reading, ids = inspection.reading, choice.tokens.ids
    if not reading.spec.parsed:
        return
    failed = bool(reading.stream.errors)
    got: list[Part] = [("note", "an error" if failed else "nothing, and no error")]
    findings = [finding for finding in inspection.findings if finding.choice == choice.index]
    for run in choice.transcript.rejected_runs:
        lost = [
            (finding.token_start, finding.token_end)
            for finding in findings
            if finding.code is Code.REJECTED_SILENTLY and run.start <= (finding.token_start or 0) < run.end
        ]
        # Without an error, special tokens alone are nothing that the client lacks.
        for start, end in lost[:1] or ([(run.start, run.end)] if failed else []):
            header = text_of(ids[run.start : start])
            before: list[Part] = [("same", header)] if header else []
            row = Excerpt([*before, *_marked(text_of(ids[start:end]))], got)
            yield FieldDifferences(_place(choice, run.start), [row])
    for finding in findings:
        if (stopped := inspection.rejection) is not None and is_rejection(finding):
            place = _place(choice, stopped.sent if stopped.header is None else stopped.header[0])
            yield FieldDifferences(place, [Excerpt(_marked(finding.generated or ""), got)])
        elif isinstance(finding.facts, UnexplainedCount) and finding.reconstructed:
            unseen = count(finding.facts.counted - finding.facts.seen, "more token")
            row = Excerpt([("note", f"{unseen}, by the server's count")], got)
            yield FieldDifferences("in no field", [row])


def _place(choice: ChoiceReading, start: int) -> str:
    """After which message a token comes."""
    before = [message for message in choice.transcript.messages if message.start < start]
    if not before:
        return "at the beginning"
    header = before[-1].header
    if header.recipient is not None:
        return f"after {clip(header.recipient.removeprefix('functions.'), _NAME)}(…)"
    return f"after the {'reasoning' if header.channel == 'analysis' else 'answer'}"
