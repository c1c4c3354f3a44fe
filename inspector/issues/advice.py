"""What to do first: the step of the likeliest known issue, and the issues that a release is known to have."""

from collections.abc import Iterator, Sequence, Set

from inspector.analysis.audit import Finding
from inspector.capture.capture import Endpoint
from inspector.issues.catalogue import catalogue, issues
from inspector.issues.issue import Issue, Observation, Side
from inspector.issues.steps import Situation, first_step
from inspector.issues.versions import as_version


def first_advice(findings: Sequence[Finding], situation: Situation) -> str:
    """The first step for the likeliest known issue of some findings; empty when none is known."""
    by_id = issues()
    for finding in findings:
        for name in finding.known_issues:
            if (issue := by_id.get(name)) is not None:
                return f"{first_step(issue, situation).rstrip('.')} ({name})."
    return ""


def known_faults(
    situation: Situation, *, absent: Set[Endpoint] = frozenset(), observed: Set[Observation] = frozenset()
) -> Iterator[Issue]:
    """Faults of the server's own code that the catalogue knows for a release.

    Left out are those of endpoints that it does not have, and those that `shown` disproves.
    """
    version = situation.version
    if version is None or as_version(version) is None:
        return
    for issue in catalogue():
        affected = issue.affected.get(situation.engine.program)
        if affected is None or version not in affected or Side.SERVER not in issue.sides:
            continue
        if issue.disproved_by & observed or (issue.endpoints and issue.endpoints <= absent):
            continue
        yield issue
