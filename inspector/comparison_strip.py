"""The strip of a comparison: one row of tokens over two delivery ribbons while the tokens are equal.

Where they differ, the left tokens stand before the right ones, in blocks that say which side they are
of. The payload is that of `inspector.strip`; its findings are the differences, in the order of the row.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from inspector.compare import ChoiceComparison, Comparison, Lane, Stretch
from inspector.harmony.text import text_of
from inspector.reading import ChoiceReading
from inspector.rows import finding_row, finding_words, issue_row
from inspector.strip import strip

__all__ = ["comparison_strip"]

_SHOWN = 120


def comparison_strip(comparison: Comparison, *, key: str, choice: int = 0) -> dict[str, Any] | None:
    """The payload of one choice; None where a side has no token ids."""
    compared = next((one for one in comparison.choices if one.index == choice), None)
    if compared is None or compared.tokens is None:
        return None
    sides = [
        (one, next(found for found in one.reading.choices if found.index == choice))
        for one in (comparison.left, comparison.right)
    ]
    mine, other = (strip(one.reading, (), key=key, choice=found) for one, found in sides)
    row = _Row(compared.tokens.stretches, len(mine["ids"]), len(other["ids"]))
    texts = {str(row.left[int(place)]): text for place, text in mine["texts"].items()}
    texts |= {str(row.right[int(place)]): text for place, text in other["texts"].items()}
    return {
        **mine,
        "count": row.count,
        "ids": row.merged(mine["ids"], other["ids"]),
        "vocab": {**other["vocab"], **mine["vocab"]},
        "texts": texts,
        "events": _events(row, comparison, sides[0][1], sides[1][1]),
        "blocks": list(_blocks(row, mine["blocks"], other["blocks"])),
        "ribbons": [
            {"label": f"{side}: {lane['label']}", "runs": list(_runs(lane["runs"], places))}
            for side, payload, places in (("left", mine, row.left), ("right", other, row.right))
            for lane in payload["ribbons"]
        ],
        "findings": sorted(
            _differences(comparison, compared, row, (sides[0][1], sides[1][1])),
            key=lambda one: (one["cell_start"] is None, one["cell_start"] or 0),
        ),
        "finish": None,
    }


class _Row:
    """Where the tokens of both sides stand in the merged row."""

    def __init__(self, stretches: Sequence[Stretch], left: int, right: int) -> None:
        self.left = [0] * left
        self.right = [0] * right
        self.parts: list[tuple[Lane, str, int, int, int]] = []
        """Lane, side whose tokens they are, span there, and place in the row."""
        self.count = 0
        for one in stretches:
            if one.left_end > one.left_start:
                self._place(one.lane, "left", one.left_start, one.left_end, self.left)
            if one.lane is Lane.SAME:
                shift = self.left[one.left_start] - one.right_start
                for place in range(one.right_start, one.right_end):
                    self.right[place] = place + shift
            elif one.right_end > one.right_start:
                self._place(one.lane, "right", one.right_start, one.right_end, self.right)

    def _place(self, lane: Lane, side: str, start: int, end: int, places: list[int]) -> None:
        self.parts.append((lane, side, start, end, self.count))
        places[start:end] = range(self.count, self.count + end - start)
        self.count += end - start

    @property
    def split(self) -> bool:
        """True when a part belongs to the right side alone."""
        return any(side == "right" for _, side, *_ in self.parts)

    def merged(self, left: Sequence[int], right: Sequence[int]) -> list[int]:
        """A column of the row from the columns of both sides."""
        found: list[int] = []
        for _, side, start, end, _ in self.parts:
            found.extend((left if side == "left" else right)[start:end])
        return found


def _events(row: _Row, comparison: Comparison, mine: ChoiceReading, other: ChoiceReading) -> dict[str, Any]:
    events = row.merged(mine.tokens.events, other.tokens.events)
    edges = {at for *_, at in row.parts}
    starts = [place for place in range(len(events)) if place in edges or events[place] != events[place - 1]]
    # Two streams have no common clock: times are shown only while the row is the left stream itself.
    at = [] if row.split else [comparison.left.reading.arrival_s(events[place]) for place in starts]
    return {
        "index": [events[place] for place in starts],
        "start": starts,
        "at": at if at and None not in at else None,
    }


def _blocks(
    row: _Row, left: Sequence[dict[str, Any]], right: Sequence[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    at = {"left": 0, "right": 0}
    for lane, side, start, end, place in row.parts:
        blocks = left if side == "left" else right
        number = at[side]
        while number < len(blocks) and blocks[number]["start"] < end:
            block = blocks[number]
            first, last = max(block["start"], start), min(block["end"], end)
            if first < last:
                shift = place - start
                words = None if lane is Lane.SAME else f"only {side}" if lane is not Lane.REPLACED else side
                yield {
                    **block,
                    "start": first + shift,
                    "body": min(max(block["body"], first), last) + shift,
                    "end": last + shift,
                    "role": " · ".join(filter(None, (words, block["role"]))) or None,
                    "complete": block["complete"] or last < block["end"],
                }
            if block["end"] > end:
                break
            number += 1
        at[side] = number


def _runs(runs: Sequence[Sequence[Any]], places: Sequence[int]) -> Iterator[list[Any]]:
    """Runs of one side, cut where the row has tokens of the other between them."""
    for start, end, field, state in runs:
        first = start
        for place in range(start + 1, end + 1):
            if place == end or places[place] != places[place - 1] + 1:
                yield [places[first], places[place - 1] + 1, field, state]
                first = place


def _differences(
    comparison: Comparison,
    compared: ChoiceComparison,
    row: _Row,
    choices: tuple[ChoiceReading, ChoiceReading],
) -> Iterator[dict[str, Any]]:
    first = True
    for lane, side, start, end, place in row.parts:
        if lane is Lane.SAME:
            continue
        ids = choices[0 if side == "left" else 1].tokens.ids[start:end]
        words = str(lane) if lane is not Lane.REPLACED else f"replaced, {side}"
        size = f"{end - start:,} token{'' if end - start == 1 else 's'}"
        title = f"{'first divergence: ' if first else ''}{words}, {size}"
        yield _difference(words, title, f"“{text_of(ids[:_SHOWN])}”", (place, place + end - start))
        first = False
    told: list[tuple[int, int]] = []
    found = comparison.findings
    for side, places, findings in (
        ("left", row.left, found.only_left),
        ("right", row.right, found.only_right),
    ):
        for finding in findings:
            if finding.choice != compared.index:
                continue
            shown = finding_words(finding)
            span = None
            if finding.token_start is not None and finding.token_end is not None:
                span = (places[finding.token_start], places[finding.token_end - 1] + 1)
                told.append(span)
            yield {
                **finding_row(finding),
                "known_issues": [issue_row(issue) for issue in finding.known_issues],
                "title": f"only {side}: {shown['title']}",
                "line": shown["line"],
                "cell_start": None if span is None else span[0],
                "cell_end": None if span is None else span[1],
            }
    for apart in compared.apart:
        start, end = row.left[apart.start], row.left[apart.end - 1] + 1
        if any(a < end and start < b for a, b in told):
            continue
        left, right = (field or "no field" for field in (apart.left_field, apart.right_field))
        yield _difference(
            "delivered differently",
            "delivered differently",
            f"left in {left}, right in {right}",
            (start, end),
        )


def _difference(kind: str, title: str, line: str, span: tuple[int, int]) -> dict[str, Any]:
    return {
        "kind": kind.replace(", ", "_").replace(" ", "_"),
        "severity": "warning",
        "field": None,
        "token_start": span[0],
        "token_end": span[1],
        "event_start": None,
        "event_end": None,
        "generated": None,
        "delivered": None,
        "explanation": line,
        "known_issues": [],
        "title": title,
        "line": line,
        "cell_start": span[0],
        "cell_end": span[1],
    }
