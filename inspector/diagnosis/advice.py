"""What to do first: the step of the likeliest known issue, and the issues that a release is known to have."""

from collections.abc import Iterator, Sequence

from inspector.audit import Finding
from inspector.diagnosis.catalogue import catalogue, issues
from inspector.diagnosis.issue import Issue, Side
from inspector.diagnosis.steps import Situation, first_step
from inspector.diagnosis.versions import as_version
from inspector.engines import Engine

__all__ = ["first_advice", "known_faults"]


def first_advice(findings: Sequence[Finding], situation: Situation) -> str:
    """The first step for the likeliest known issue of some findings; empty when none is known."""
    known = issues()
    for finding in findings:
        for name in finding.known_issues:
            if (issue := known.get(name)) is not None:
                return f"{first_step(issue, situation).rstrip('.')} ({name})."
    return ""


def known_faults(version: str | None, engine: Engine) -> Iterator[Issue]:
    """Faults of the server's own code that the catalogue knows for a version."""
    if version is None or as_version(version) is None:
        return
    for issue in catalogue():
        affected = issue.affected.get(engine.program)
        if affected is not None and version in affected and Side.SERVER in issue.sides:
            yield issue
