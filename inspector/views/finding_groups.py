"""Findings of one kind as a group: a reader wants one line about 192 equal losses."""

from collections.abc import Sequence
from typing import Final

from inspector.analysis.audit import Finding
from inspector.analysis.audit.wording import place
from inspector.analysis.audit.words import field_words
from inspector.capture.formats import count

_LEAST: Final = 4
"""Findings of a sort from which they are grouped; the strip's list has the same number."""


def grouped(findings: Sequence[Finding]) -> list[Sequence[Finding]]:
    """The findings in groups of one sort, in the order of their first findings; few of a sort stay single.

    A sort is code, severity, field, the field that the text was delivered in, and first known issue.
    """
    sorts: dict[tuple[str | None, ...], list[Finding]] = {}
    for finding in findings:
        issue = next(iter(finding.known_issues), None)
        sorts.setdefault(
            (finding.code, finding.severity, finding.field, finding.delivered_in, issue), []
        ).append(finding)
    groups: list[Sequence[Finding]] = []
    for sort in sorts.values():
        groups.extend([sort] if len(sort) >= _LEAST else [[finding] for finding in sort])
    first = {id(finding): place for place, finding in enumerate(findings)}
    return sorted(groups, key=lambda group: first[id(group[0])])


def rest_words(group: Sequence[Finding]) -> str:
    """A summary of the findings of a group after the first; empty for a single one."""
    rest = group[1:]
    if not rest:
        return ""
    at = place(rest[-1])
    last = f" (the last at {at})" if at else ""
    characters = sum(len(finding.generated or "") for finding in group)
    of = f" of {field_words(group[0].field)}" if group[0].field else ""
    total = f", {count(characters, 'character')}{of} in total" if characters else ""
    return f"and {len(rest):,} more of this kind{last}{total}"
