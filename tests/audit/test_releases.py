"""The audit against the lab's own judgement of real releases, which knows the script and not the audit."""

from collections.abc import Iterator

import pytest

import inspector
from inspector import Endpoint, Inspection, Kind, Level, Severity, dashboard
from inspector.audit import explain
from inspector.dashboard import MatrixRun, Outcome, Script
from inspector.lab.score import Score

HEADER_UNTOLD = {
    # The server read a header that Harmony does not have as one that it has: the count alone shows it.
    "channel_after_recipient",
    "doubled_channel",
    "doubled_channel_first",
    # A header without an end, and <|return|>: no text was lost.
    "return_in_header",
}

Seen = list[tuple[Script, Endpoint, Score, Inspection]]


@pytest.fixture(scope="module", params=dashboard.matrix_runs(), ids=lambda run: run.name)
def seen(request: pytest.FixtureRequest) -> Seen:
    """A run with its captures as a user has them: nothing is known but what the server sent."""
    return list(inspections(request.param))


def inspections(run: MatrixRun) -> Iterator[tuple[Script, Endpoint, Score, Inspection]]:
    for script in dashboard.lab_scripts():
        for endpoint in script.endpoints:
            capture = dashboard.matrix_capture(run, endpoint, script.name)
            if capture is not None:
                yield script, endpoint, run.scores[endpoint, script.name], inspector.inspect(capture)


def test_the_shipped_kinds_are_what_the_audit_says_now(seen: Seen) -> None:
    """The Matrix page shows them; `lab matrix --rescore --out fixtures/matrix` writes them anew."""
    stale = [
        (script.name, endpoint)
        for script, endpoint, score, one in seen
        # For Responses the lab lends the audit the ids that it made the model sample.
        if endpoint is not Endpoint.RESPONSES and set(score.kinds) != {found.kind for found in one.findings}
    ]
    assert stale == []


def test_what_was_lost_silently_is_never_called_clean(seen: Seen) -> None:
    clean = [
        (script.name, endpoint)
        for script, endpoint, score, one in seen
        if score.outcome is Outcome.SILENT and one.verdict.level is Level.CLEAN
    ]
    assert clean == []


def test_a_whole_response_has_no_token_unaccounted_for(seen: Seen) -> None:
    doubted = {
        script.name
        for script, endpoint, score, one in seen
        if endpoint is Endpoint.RESPONSES and score.outcome is Outcome.WHOLE and script.well_formed
        if any(found.kind is Kind.COUNT_MISMATCH for found in one.findings)
    }
    assert doubted <= HEADER_UNTOLD


def test_a_whole_response_without_a_finding_is_clean_where_its_final_object_tells_everything(
    seen: Seen,
) -> None:
    unknown = [
        script.name
        for script, endpoint, score, one in seen
        if endpoint is Endpoint.RESPONSES and score.outcome is Outcome.WHOLE and not one.findings
        if one.verdict.level is Level.UNKNOWN
    ]
    # A character that was cut has no id; to 0.18 an unstreamed response tells nothing of a server-side tool.
    assert [name for name in unknown if not name.startswith(("half_character", "turn_"))] == []
    assert [name for name in unknown if name.startswith("turn_") and not name.endswith("_unstreamed")] == []


def test_what_to_switch_on_is_never_what_the_capture_has(seen: Seen) -> None:
    for _, endpoint, _, one in seen:
        if endpoint is Endpoint.RESPONSES and one.reading.stream.final_object is not None:
            assert "keep the stream" not in one.verdict.why


def test_what_was_told_to_the_client_is_an_error(seen: Seen) -> None:
    quiet = [
        (script.name, endpoint)
        for script, endpoint, score, one in seen
        if score.outcome is Outcome.TOLD and one.verdict.level is not Level.ERROR
    ]
    assert quiet == []


def test_what_is_whole_and_well_formed_has_no_error(seen: Seen) -> None:
    wrong = [
        (script.name, endpoint, explain(finding))
        for script, endpoint, score, one in seen
        if score.outcome is Outcome.WHOLE and script.well_formed
        for finding in one.findings
        if finding.severity is Severity.ERROR
    ]
    assert wrong == []
