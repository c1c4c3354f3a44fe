"""What to do first: the step of the likeliest known issue, and the issues that a release is known to have."""

from collections.abc import Iterator, Sequence

from inspector.audit import Finding
from inspector.diagnosis.catalogue import catalogue, issues
from inspector.diagnosis.issue import Issue, Side
from inspector.diagnosis.versions import as_version
from inspector.engines import Engine

__all__ = ["first_advice", "first_step", "known_faults"]


def first_step(issue: Issue, engine: Engine) -> str:
    """The upgrade that ends an issue of an engine, else the first step of its entry."""
    if fixed := issue.fixed_in.get(engine.program):
        return f"Upgrade to {engine.labelled(fixed)}"
    return issue.steps[0].rstrip(".") if issue.steps else ""


def first_advice(findings: Sequence[Finding], engine: Engine) -> str:
    """The first step for the likeliest known issue of some findings; empty when none is known."""
    known = issues()
    for finding in findings:
        for name in finding.known_issues:
            if (issue := known.get(name)) is not None:
                return f"{first_step(issue, engine)} ({name})."
    return ""


def known_faults(version: str | None, engine: Engine) -> Iterator[Issue]:
    """Faults of the server's own code that the catalogue knows for a version."""
    if version is None or as_version(version) is None:
        return
    for issue in catalogue():
        affected = issue.affected.get(engine.program)
        if affected is not None and version in affected and Side.SERVER in issue.sides:
            yield issue
