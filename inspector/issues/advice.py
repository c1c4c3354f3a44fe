"""What to do: the causes that are named with their steps, and the issues that a release is known to have."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from inspector.analysis.audit import Finding
from inspector.capture.capture import Endpoint
from inspector.issues.catalogue.commands import runnable
from inspector.issues.catalogue.issue import Issue, Observation, Side, Step
from inspector.issues.catalogue.steps import Situation, beside, first_step, links_for, steps_in
from inspector.issues.catalogue.table import catalogue, issues
from inspector.issues.catalogue.versions import as_version
from inspector.issues.ranking import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One of the causes that are named, and what to do about it: what every interface prints."""

    answer: Answer
    steps: tuple[Step, ...]
    """Best first; at least one."""
    settle: str
    """The one thing to run or do that shows whether it is this issue; empty where the entry has none."""
    links: tuple[str, ...]
    """Where the issue is discussed, of this server or of none in particular."""

    @property
    def issue(self) -> Issue:
        """The entry of the catalogue."""
        return self.answer.issue


def advice_on(answers: Sequence[Answer], situation: Situation) -> tuple[Advice, ...]:
    """What to do about each answer; no later one is advised an older release than the first needs."""
    if not answers:
        return ()
    of_all = beside(answers[0].issue, situation)
    return tuple(
        Advice(
            answer=answer,
            steps=tuple(steps_in(answer.issue, of_all)),
            settle=runnable(answer.issue.experiment or answer.issue.settle, model=of_all.model),
            links=links_for(answer.issue, of_all.engine),
        )
        for answer in answers
    )


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
