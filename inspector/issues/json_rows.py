"""A diagnosis as plain values for `--json`, tables and plots; the keys are the command's contract."""

from typing import Any

from inspector.issues.advice import Advice
from inspector.issues.catalogue.issue import Issue
from inspector.issues.catalogue.routes import Route
from inspector.issues.catalogue.steps import ReleaseMeasured
from inspector.issues.diagnosis import Diagnosis, Failure


def issue_row(issue: Issue) -> dict[str, Any]:
    """What a person needs to know of an entry."""
    return {
        "id": issue.id,
        "title": issue.title,
        "sides": [str(side) for side in issue.sides],
        "cause": issue.cause,
        "steps": [step.text for step in issue.steps],
        "affected": {program: versions.text for program, versions in issue.affected.items()},
        "fixed_in": dict(issue.fixed_in),
        "endpoints": sorted(str(endpoint) for endpoint in issue.endpoints),
        "confidence": str(issue.confidence),
        "basis": issue.basis,
        "links": list(issue.links),
    }


def advice_row(advice: Advice) -> dict[str, Any]:
    """A cause that is named, with what to do about it."""
    return {
        "id": advice.issue.id,
        "title": advice.issue.title,
        "match": str(advice.answer.match),
        "steps": [step.text for step in advice.steps],
        "links": list(advice.links),
    }


def answer_row(advice: Advice) -> dict[str, Any]:
    """An entry with the reasons that led to it, and the steps for this server."""
    answer = advice.answer
    because = [{"kind": str(reason.because), "words": reason.words} for reason in answer.reasons]
    return {
        **issue_row(answer.issue),
        **advice_row(advice),
        "settle": advice.settle,
        "weight": answer.weight,
        "because": because,
    }


def route_row(route: Route) -> dict[str, Any]:
    """Where a text belongs that is not about Harmony in vLLM."""
    return {
        "id": route.id,
        "kind": str(route.kind),
        "name": route.name,
        "steps": list(route.steps),
        "links": list(route.links),
    }


def failure_row(failure: Failure) -> dict[str, Any]:
    """One failure; its issues as ids, best first."""
    return {
        "message": failure.message,
        "count": failure.count,
        "share": failure.share,
        "first_line": failure.first_line,
        "by_version": failure.by_version,
        "issues": [answer.issue.id for answer in failure.answers],
        "nearest": [],  # `closest` of the whole diagnosis stands for it
        "general": failure.general,
        "cut": failure.cut,
        "around": [list(lines) for lines in failure.around],
    }


def measured_row(measured: ReleaseMeasured) -> dict[str, Any]:
    """What the lab's matrix says of the release that a text names."""
    return {
        "release": measured.release,
        "endpoint": str(measured.endpoint),
        "complete": measured.complete,
        "scripts": measured.scripts,
    }


def diagnosis_row(name: str, diagnosis: Diagnosis) -> dict[str, Any]:
    """What `diagnose --json` prints for one input."""
    return {
        "file": name,
        "outcome": str(diagnosis.outcome),
        "sentence": diagnosis.sentence,
        "next_step": diagnosis.next_step,
        "route": None if diagnosis.route is None else route_row(diagnosis.route),
        "sides": [str(side) for side in diagnosis.sides],
        "server_version": diagnosis.version,
        "versions": [reported._asdict() for reported in diagnosis.versions],
        "notes": list(diagnosis.notes),
        "answers": [answer_row(advice) for advice in diagnosis.advice],
        "judges": [
            {
                "judge": parser_result.parser,
                "refused_at": parser_result.rejected_at,
                "words": parser_result.words,
                "messages": list(parser_result.messages),
            }
            for parser_result in diagnosis.parser_results
        ],
        "failures": [failure_row(failure) for failure in diagnosis.failures],
        "measured": None if diagnosis.measured is None else measured_row(diagnosis.measured),
        "closest": [
            {"id": issue.id, "title": issue.title, "settle": diagnosis.settles(issue)}
            for issue in diagnosis.closest
        ],
        "log": {
            "lines": diagnosis.lines,
            "requests": diagnosis.requests,
            "timeline": [count._asdict() for count in diagnosis.timeline],
        }
        if diagnosis.is_log
        else None,
    }
