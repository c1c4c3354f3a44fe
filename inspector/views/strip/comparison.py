"""The strip of a comparison: one row of tokens over two deliveries while the tokens are equal.

Where they differ, the left tokens come before the right ones, in blocks that name their side. The
payload is that of `views.strip`; its findings are the differences, in the order of the row. If folded, the
middle of long equal stretches is omitted, and the next block says how many tokens that is.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, islice
from itertools import count as count_from
from typing import NamedTuple, TypeVar

from inspector.capture.formats import count
from inspector.inspection.compare import ChoiceComparison, Comparison, Fold, Stretch, StretchKind, folds
from inspector.inspection.inspection import Inspection
from inspector.protocol.harmony.text import text_of
from inspector.views.payload import (
    Block,
    CellSpan,
    Events,
    FindingRow,
    Payload,
    Piece,
    Pipeline,
    UnsentCell,
)
from inspector.views.strip.complete import strip
from inspector.views.strip.findings import event_of_cells, strip_finding

_Value = TypeVar("_Value")

_TEXT_TOKENS = 120
_FOLDED = -1
"""The place of a folded token."""
_CONTEXT = 24
"""Tokens that stay in view around a difference."""


class ComparedRow(NamedTuple):
    """The common row of two sides."""

    payload: Payload
    left: Sequence[int]
    """Cell of each token of the left side, in order; negative for those that are folded."""
    right: Sequence[int]

    def tokens_at(self, cell: int) -> tuple[int | None, int | None]:
        """The tokens of both sides in a cell; None where a side has none there, or did not send it."""
        left, right = (_token_at(places, cell) for places in (self.left, self.right))
        return left, right


def _token_at(places: Sequence[int], cell: int) -> int | None:
    # Places in the row increase; those folded between them take the place of the one before.
    risen = list(accumulate(places, max))
    at = bisect_left(risen, cell)
    return at if at < len(places) and places[at] == cell else None


def comparison_strip(
    comparison: Comparison, *, key: str, choice: int = 0, folded: bool = False
) -> ComparedRow | None:
    """The row of one choice; None where a side has no token ids.

    `folded` leaves out equal tokens far from any difference; cells then count what is shown, and `hidden`
    says how many tokens are not.
    """
    compared = next((candidate for candidate in comparison.choices if candidate.index == choice), None)
    if compared is None or compared.tokens is None:
        return None
    left, right = (_side(side, choice, key) for side in (comparison.left, comparison.right))
    parts: Sequence[Stretch | Fold] = compared.tokens.stretches
    if folded:
        parts = list(folds(compared.tokens, context=_CONTEXT, keep=_spans_in_view(comparison, compared)))
    parts = list(_with_unsent(parts, left, right))
    row = _Row(parts, left["count"], right["count"])
    texts = {
        str(places[int(place)]): text
        for payload, places in ((left, row.left), (right, row.right))
        for place, text in payload["texts"].items()
        if places[int(place)] != _FOLDED
    }
    payload: Payload = {
        **left,
        "count": row.count,
        "hidden": sum(row.folded.values()),
        "ids": row.merged(left["ids"] or (), right["ids"] or ()),
        "vocab": {**right["vocab"], **left["vocab"]},
        "texts": texts,
        "events": _events(row, comparison, left, right),
        "blocks": list(_blocks(row, left["blocks"], right["blocks"])),
        "pipelines": [
            _placed(picture, places, row.count)
            for payload, places in ((left, row.left), (right, row.right))
            for picture in payload["pipelines"]
        ],
        "findings": sorted(
            _differences(comparison, compared, row, (left, right)),
            key=lambda finding: (finding.get("cell_start") is None, finding.get("cell_start") or 0),
        ),
        "unsent": [
            {**cell, "at": places[cell["at"]]}
            for payload, places in ((left, row.left), (right, row.right))
            for cell in payload["unsent"]
            if payload is left or row.own(places[cell["at"]])
        ],
        "finish": None,
    }
    return ComparedRow(payload, row.left[: left["sent"]], row.right[: right["sent"]])


def _side(inspection: Inspection, index: int, key: str) -> Payload:
    choice = next(choice for choice in inspection.reading.choices if choice.index == index)
    return strip(inspection, key=key, choice=choice, findings=())


def _with_unsent(parts: Sequence[Stretch | Fold], left: Payload, right: Payload) -> Iterator[Stretch | Fold]:
    """The parts, with the cells that a side's server never sent inserted after that side's last token."""
    (a, b), (c, d) = ((payload["sent"], payload["count"]) for payload in (left, right))
    same = [_unsent_key(cell) for cell in left["unsent"]] == [_unsent_key(cell) for cell in right["unsent"]]
    waiting = []
    if b > a:
        waiting.append(("left", Stretch(StretchKind.ONLY_LEFT, a, b, c, c)))
    if d > c:
        waiting.append(("right", Stretch(StretchKind.ONLY_RIGHT, a, a, c, d)))
    ends = [(_end(part, "left"), _end(part, "right")) for part in parts]
    if len(waiting) == 2 and same and (not parts or (ends[-1] == (a, c) and _paired(parts[-1]))):
        waiting = [("left", Stretch(StretchKind.SAME, a, b, c, d))]
    for number in range(-1, len(parts)):
        if number >= 0:
            yield parts[number]
        reached = ends[number] if number >= 0 else (0, 0)
        for unsent in waiting[:]:
            if reached[0 if unsent[0] == "left" else 1] >= (a if unsent[0] == "left" else c):
                waiting.remove(unsent)
                yield unsent[1]


def _unsent_key(cell: UnsentCell) -> tuple[object, ...]:
    return cell["kind"], cell["id"], cell["text"]


def _end(part: Stretch | Fold, side: str) -> int:
    if isinstance(part, Fold):
        return part.left_end if side == "left" else part.right_start + part.left_end - part.left_start
    return part.left_end if side == "left" else part.right_end


def _paired(part: Stretch | Fold) -> bool:
    return isinstance(part, Fold) or part.lane in {StretchKind.SAME, StretchKind.REPLACED}


class _Row:
    """The places of the tokens of both sides in the merged row."""

    def __init__(self, stretches: Sequence[Stretch | Fold], left: int, right: int) -> None:
        self.left = [_FOLDED] * left
        self.right = [_FOLDED] * right
        self.folded: dict[int, int] = {}
        """Place in the row to the number of tokens folded before it."""
        self.parts: list[tuple[StretchKind, str, int, int, int]] = []
        """Lane, side of the tokens, span on that side, and place in the row."""
        self.count = 0
        for stretch in stretches:
            if isinstance(stretch, Fold):
                self.folded[self.count] = stretch.left_end - stretch.left_start
                continue
            if stretch.left_end > stretch.left_start:
                self._place(stretch.lane, "left", stretch.left_start, stretch.left_end, self.left)
            if stretch.lane is StretchKind.SAME:
                shift = self.left[stretch.left_start] - stretch.right_start
                for place in range(stretch.right_start, stretch.right_end):
                    self.right[place] = place + shift
            elif stretch.right_end > stretch.right_start:
                self._place(stretch.lane, "right", stretch.right_start, stretch.right_end, self.right)

    def _place(self, lane: StretchKind, side: str, start: int, end: int, places: list[int]) -> None:
        self.parts.append((lane, side, start, end, self.count))
        places[start:end] = range(self.count, self.count + end - start)
        self.count += end - start

    def own(self, at: int) -> bool:
        """Whether a place in the row belongs to the right side alone."""
        return any(
            side == "right" and at < place + end - start and at >= place
            for _, side, start, end, place in self.parts
        )

    @property
    def split(self) -> bool:
        """Whether a part belongs to the right side alone."""
        return any(side == "right" for _, side, *_ in self.parts)

    def merged(self, left: Sequence[_Value], right: Sequence[_Value]) -> list[_Value]:
        """A column of the row from the columns of both sides."""
        column: list[_Value] = []
        for _, side, start, end, _ in self.parts:
            column.extend((left if side == "left" else right)[start:end])
        return column


def _events(row: _Row, comparison: Comparison, left: Payload, right: Payload) -> Events:
    events = row.merged(event_of_cells(left), event_of_cells(right))
    edges = {at for *_, at in row.parts}
    starts = [place for place in range(len(events)) if place in edges or events[place] != events[place - 1]]
    # Two streams have no common clock: times are shown only while the row is the left stream itself.
    times = [] if row.split else [comparison.left.reading.arrival_s(events[place]) for place in starts]
    at = [time for time in times if time is not None]
    return {
        "index": [events[place] for place in starts],
        "start": starts,
        "at": at if at and len(at) == len(starts) else None,
    }


def _blocks(row: _Row, left: Sequence[Block], right: Sequence[Block]) -> Iterator[Block]:
    at = {"left": 0, "right": 0}
    numbers = {"left": _message_numbers(left), "right": _message_numbers(right)}
    for lane, side, start, end, place in row.parts:
        blocks = left if side == "left" else right
        number = at[side]
        while number < len(blocks) and blocks[number]["start"] < end:
            block = blocks[number]
            first, last = max(block["start"], start), min(block["end"], end)
            if first < last:
                shift = place - start
                words = {StretchKind.SAME: None, StretchKind.REPLACED: side}.get(lane, f"only {side}")
                if lane is StretchKind.SAME and (hidden := row.folded.get(first + shift)):
                    words = f"after {hidden:,} equal tokens"
                elif last + shift == row.count and (hidden := row.folded.get(row.count)):
                    words = " · ".join(filter(None, (words, f"{hidden:,} equal tokens follow")))
                part = block.copy()
                part["start"] = first + shift
                part["body"] = min(max(block["body"], first), last) + shift
                part["end"] = last + shift
                part["role"] = " · ".join(filter(None, (words, block["role"]))) or None
                part["complete"] = block["complete"] or last < block["end"]
                part["message"] = numbers[side][number]
                part["continued"] = first > block["start"]
                if block["kind"] == "message" and last < block["body"]:
                    part["in_body"] = False  # the header goes on, perhaps with other words on each side
                part["culprit"] = _shifted(block.get("culprit"), first, last, shift)
                yield part
            if block["end"] > end:
                break
            number += 1
        at[side] = number


def _message_numbers(blocks: Sequence[Block]) -> list[int | None]:
    """The number of each block among the messages; None for other blocks."""
    counted = count_from()
    return [next(counted) if block["kind"] == "message" else None for block in blocks]


def _shifted(span: tuple[int, int] | None, first: int, last: int, shift: int) -> tuple[int, int] | None:
    """A span of cells of the side in cells of the row, cut to a part of its block."""
    if span is None or span[0] >= last or span[1] <= first:
        return None
    return max(span[0], first) + shift, min(span[1], last) + shift


def _spans(start: int, end: int, places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """A span of one side in the row, split where the row has tokens of the other side in between."""
    first = None
    for place in range(start, end + 1):
        at = _FOLDED if place == end else places[place]
        if first is not None and at != places[place - 1] + 1:
            yield places[first], places[place - 1] + 1
            first = None
        if first is None and at != _FOLDED:
            first = place


def _placed(picture: Pipeline, places: Sequence[int], count: int) -> Pipeline:
    """The picture of one side in the row."""
    return {
        "server": picture["server"],
        "per_event": picture["per_event"],
        "lanes": [
            {
                **lane,
                "pieces": [*chain.from_iterable(_pieces(piece, places, count) for piece in lane["pieces"])],
            }
            for lane in picture["lanes"]
        ],
        "fates": [
            (first, last, *fate[2:])
            for fate in picture["fates"]
            for first, last in _spans(fate[0], fate[1], places)
        ],
    }


def _pieces(piece: Piece, places: Sequence[int], count: int) -> Iterator[Piece]:
    start, end, text, sign = piece
    spans = list(_spans(start, end, places))
    if text is None:
        yield from ((first, last, None, sign) for first, last in spans)
    elif spans:
        yield spans[0][0], spans[-1][1], text, sign
    else:
        at = next((place for place in islice(places, start, None) if place != _FOLDED), count)
        yield at, at, text, sign


def _spans_in_view(comparison: Comparison, compared: ChoiceComparison) -> list[tuple[int, int]]:
    """Left spans that stay in view: what was delivered differently, and all findings."""
    spans = [(apart.start, apart.end) for apart in compared.apart]
    pairs = comparison.findings
    left_findings = [*pairs.only_left, *(left for left, _ in pairs.both)]
    spans += [
        (finding.token_start if finding.sent else max(finding.token_start - 1, 0), finding.token_end)
        for finding in left_findings
        if finding.choice == compared.index
        and finding.token_start is not None
        and finding.token_end is not None
    ]
    for finding in pairs.only_right:
        if (
            finding.choice == compared.index
            and finding.token_start is not None
            and finding.token_end is not None
        ):
            for stretch in compared.tokens.stretches if compared.tokens is not None else ():
                start = max(finding.token_start - (not finding.sent), stretch.right_start)
                end = min(finding.token_end, stretch.right_end)
                if stretch.lane is StretchKind.SAME and start < end:
                    shift = stretch.left_start - stretch.right_start
                    spans.append((start + shift, end + shift))
    return sorted(spans)


def _differences(
    comparison: Comparison,
    compared: ChoiceComparison,
    row: _Row,
    payloads: tuple[Payload, Payload],
) -> Iterator[FindingRow]:
    first = True
    for lane, side, start, end, place in row.parts:
        if lane is StretchKind.SAME:
            continue
        payload = payloads[0 if side == "left" else 1]
        if start >= payload["sent"]:
            continue  # what was not sent differs as a finding
        ids = [
            token_id
            for token_id in (payload["ids"] or ())[start : min(end, start + _TEXT_TOKENS)]
            if token_id is not None
        ]
        words = str(lane) if lane is not StretchKind.REPLACED else f"replaced on the {side}"
        size = count(end - start, "token")
        title = f"{_opening(lane, place, row, payloads) if first else ''}{words}, {size}"
        yield _difference(words, title, f"“{text_of(ids)}”", (place, place + end - start))
        first = False
    finding_spans: list[tuple[int, int]] = []
    pairs = comparison.findings
    for side, places, findings, inspection in (
        ("left", row.left, pairs.only_left, comparison.left),
        ("right", row.right, pairs.only_right, comparison.right),
    ):
        for finding in findings:
            if finding.choice != compared.index:
                continue
            span: CellSpan = {"cell_start": None, "cell_end": None}
            if finding.token_start is not None and finding.token_end is not None:
                last = finding.token_end - 1 if finding.sent else len(places) - 1
                cells = (places[finding.token_start if finding.sent else last], places[last] + 1)
                finding_spans.append(cells)
                span = {"cell_start": cells[0], "cell_end": cells[1]}
            finding_row = strip_finding(finding, inspection.situation, span)
            yield {**finding_row, "title": f"only {side}: {finding_row['title']}"}
    for apart in compared.apart:
        start, end = row.left[apart.start], row.left[apart.end - 1] + 1
        if any(a < end and start < b for a, b in finding_spans):
            continue
        left, right = (
            f"in {field}" if field else "not delivered" for field in (apart.left_field, apart.right_field)
        )
        yield _difference(
            "delivered differently",
            "delivered differently",
            f"left: {left}; right: {right}",
            (start, end),
        )


def _opening(lane: StretchKind, place: int, row: _Row, payloads: tuple[Payload, Payload]) -> str:
    """What the first difference is: another token, or the end of one stream."""
    for name, alone, places, payload in (
        ("left", StretchKind.ONLY_RIGHT, row.left, payloads[0]),
        ("right", StretchKind.ONLY_LEFT, row.right, payloads[1]),
    ):
        if lane is alone and place == (places[payload["sent"] - 1] + 1 if payload["sent"] else 0):
            return f"the {name} stream ends here: "
    return "first divergence: "


def _difference(kind: str, title: str, line: str, span: tuple[int, int]) -> FindingRow:
    return {
        "kind": kind.replace(" ", "_"),
        "severity": "warning",
        "field": None,
        "token_start": span[0],
        "token_end": span[1],
        "event_start": None,
        "event_end": None,
        "generated": None,
        "delivered": None,
        "delivered_in": None,
        "choice": 0,
        "sent": True,
        "explanation": line,
        "known_issues": [],
        "title": title,
        "line": line,
        "cell_start": span[0],
        "cell_end": span[1],
    }
