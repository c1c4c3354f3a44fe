"""The shipped results of real releases: every finding in them leads to an entry that fits the release."""

from collections.abc import Iterator

import pytest

import inspector
from inspector import Endpoint, Inspection, Kind, dashboard
from inspector.audit import explain, rejection
from inspector.audit.finding import Missing
from inspector.dashboard import MatrixRun, Script
from inspector.diagnosis.catalogue import issues

REFUSALS = {Kind.UNEXPECTED_TOKEN, Kind.BAD_HEADER}
LOSSES = {Kind.DROPPED, Kind.MISROUTED, Kind.GARBLED, Kind.REORDERED, Kind.DUPLICATED}

UNSENT = {"constrain_twice"}
"""Scripts whose telling token, here the second <|constrain|>, may be in the step that was not sent."""

WITHOUT_ENTRY = {
    (Endpoint.RESPONSES, name)
    for name in ("doubled_channel_first", "end_of_text", "json_answer", "missing_end", "prompt_tail")
}
"""With the lab's ids these malformed streams show losses that no entry explains as a whole; without them the
stream's own evidence names one (test_first_causes)."""

Seen = tuple[MatrixRun, list[tuple[Script, Inspection]]]


@pytest.fixture(scope="module", params=dashboard.matrix_runs(), ids=lambda run: run.name)
def seen(request: pytest.FixtureRequest) -> Seen:
    """A run with its captures of one turn, inspected."""
    return request.param, list(inspections(request.param))


def inspections(run: MatrixRun) -> Iterator[tuple[Script, Inspection]]:
    """The script stands in for ids that Responses does not send."""
    for script in dashboard.lab_scripts():
        for endpoint in script.endpoints if len(script.turns) == 1 else ():
            capture = dashboard.matrix_capture(run, endpoint, script.name)
            if capture is not None:
                truth = capture.header.script if endpoint is Endpoint.RESPONSES else None
                yield script, inspector.inspect(capture, truth=truth)


def test_every_finding_of_a_real_release_has_an_entry(seen: Seen) -> None:
    unknown = [
        (script.name, str(one.reading.header.endpoint), explain(finding))
        for script, one in seen[1]
        for finding in one.findings
        if not finding.known_issues and (one.reading.header.endpoint, script.name) not in WITHOUT_ENTRY
    ]
    assert unknown == []


def test_losses_lead_to_entries_whose_affected_versions_hold_the_release(seen: Seen) -> None:
    run, inspected = seen
    for script, one in inspected:
        for finding in one.findings:
            for name in finding.known_issues if finding.kind in LOSSES else ():
                affected = issues()[name].affected.get("vllm")
                assert affected is None or run.version in affected, (script.name, name, explain(finding))


def test_refused_tokens_lead_to_what_the_script_was_written_to_show(seen: Seen) -> None:
    for script, one in seen[1]:
        refused = [finding for finding in one.findings if finding.kind in REFUSALS]
        # vLLM to 0.12 may send no ids at all; then only the words of its error are known.
        stopped = rejection(one.reading)
        unsent = script.name in UNSENT and stopped is not None and stopped.missing is not Missing.NONE
        if refused and script.issues and one.reading.choice.tokens and not unsent:
            named = {name for finding in refused for name in finding.known_issues}
            assert named & set(script.issues), (script.name, script.issues, named)
