"""Findings of two sides matched: only left, only right, both.

Two findings are the same when kind, field and tokens are, the tokens taken through the alignment;
findings without tokens when kind, field and texts are. A loss that is wider on one side is another
loss: it counts on both sides.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from inspector.analysis.audit import Finding, Kind, Severity
from inspector.inspection.compare.sequences import Sides

_ABOUT_THE_STREAM = {Kind.DISCONNECTED, Kind.ABORTED, Kind.PROTOCOL, Kind.COUNT_MISMATCH}
"""Their texts hold counts and transport words, which differ from run to run."""


@dataclass(frozen=True, slots=True)
class FindingPairs:
    """Findings by the side that has them."""

    only_left: tuple[Finding, ...]
    only_right: tuple[Finding, ...]
    both: tuple[tuple[Finding, Finding], ...]

    @property
    def equal(self) -> bool:
        """True when each finding has its partner."""
        return not self.only_left and not self.only_right

    @property
    def errors_left(self) -> list[Finding]:
        """Errors that only the left side has."""
        return [finding for finding in self.only_left if finding.severity is Severity.ERROR]

    @property
    def errors_right(self) -> list[Finding]:
        """Errors that only the right side has."""
        return [finding for finding in self.only_right if finding.severity is Severity.ERROR]


def match(left: Sequence[Finding], right: Sequence[Finding], sides: dict[int, Sides]) -> FindingPairs:
    """Match findings; `sides` holds the token alignment of each choice that has one."""
    waiting: defaultdict[Hashable, list[int]] = defaultdict(list)
    for place, finding in enumerate(right):
        waiting[_key(finding, None)].append(place)
    pairs: list[tuple[Finding, Finding]] = []
    only_left: list[Finding] = []
    partners: set[int] = set()
    for finding in left:
        candidates = waiting.get(_key(finding, sides.get(finding.choice)))
        if candidates:
            place = candidates.pop(0)
            partners.add(place)
            pairs.append((finding, right[place]))
        else:
            only_left.append(finding)
    only_right = tuple(finding for place, finding in enumerate(right) if place not in partners)
    return FindingPairs(tuple(only_left), only_right, tuple(pairs))


def _key(finding: Finding, sides: Sides | None) -> Hashable:
    """Key of equal findings, in the right side's token numbers; `sides` maps the left ones to them."""
    key = (finding.kind, finding.severity, finding.field, finding.delivered_in, finding.choice)
    start, end = finding.token_start, finding.token_end
    if not finding.sent:  # it has no token to align
        return (*key, finding.generated, finding.delivered)
    if start is not None and end is not None:
        span = (start, end) if sides is None else sides.span_to_right(start, end)
        # Without a partner the span stays unlike every right one.
        return (*key, span if span is not None else ("left", start, end))
    if finding.kind in _ABOUT_THE_STREAM:
        return (*key, finding.code)
    return (*key, finding.generated, finding.delivered)
