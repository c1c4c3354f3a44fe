"""The audit against the lab's own judgement of real releases, which knows the script and not the audit."""

from collections.abc import Sequence

import pytest

from inspector import Endpoint, Kind, Level, Severity
from inspector.analysis.audit import explain
from inspector.matrix.results import ScriptOutcome, all_runs
from tests.support.matrix import MatrixInspection, inspections_of

HEADER_UNTOLD = {
    # The server read a header that Harmony does not have as one that it has: the count alone shows it.
    "channel_after_recipient",
    "doubled_channel",
    "doubled_channel_first",
    # A header without an end, and <|return|>: no text was lost.
    "return_in_header",
}


@pytest.fixture(scope="module", params=all_runs(), ids=lambda run: run.name)
def run(request: pytest.FixtureRequest) -> Sequence[MatrixInspection]:
    return inspections_of(request.param)


def test_the_shipped_kinds_are_what_the_audit_says_now(run: Sequence[MatrixInspection]) -> None:
    """The Matrix page shows them; `lab matrix --rescore --out fixtures/matrix` writes them anew."""
    stale = [
        (capture.script.name, capture.endpoint)
        for capture in run
        # For Responses the lab lends the audit the ids that it made the model sample.
        if capture.endpoint is not Endpoint.RESPONSES
        and set(capture.score.kinds) != {finding.kind for finding in capture.findings}
    ]
    assert stale == []


def test_what_was_lost_silently_is_never_called_clean(run: Sequence[MatrixInspection]) -> None:
    clean = [
        (capture.script.name, capture.endpoint)
        for capture in run
        if capture.score.outcome is ScriptOutcome.SILENT and capture.verdict.level is Level.CLEAN
    ]
    assert clean == []


def test_a_whole_response_has_no_token_unaccounted_for(run: Sequence[MatrixInspection]) -> None:
    doubted = {
        capture.script.name
        for capture in run
        if capture.endpoint is Endpoint.RESPONSES
        and capture.score.outcome is ScriptOutcome.COMPLETE
        and capture.script.well_formed
        if any(finding.kind is Kind.COUNT_MISMATCH for finding in capture.findings)
    }
    assert doubted <= HEADER_UNTOLD


def test_the_count_of_a_complete_response_agrees_where_its_final_object_has_everything(
    run: Sequence[MatrixInspection],
) -> None:
    unknown = [
        capture.script.name
        for capture in run
        if capture.endpoint is Endpoint.RESPONSES
        and capture.score.outcome is ScriptOutcome.COMPLETE
        and not capture.findings
        and "as many tokens as the server counted" not in capture.verdict.sentence
    ]
    # A character that was cut has no id; to 0.18 an unstreamed response tells nothing of a server-side tool.
    assert [name for name in unknown if not name.startswith(("half_character", "turn_"))] == []
    assert [name for name in unknown if name.startswith("turn_") and not name.endswith("_unstreamed")] == []


def test_what_to_switch_on_is_never_what_the_capture_has(run: Sequence[MatrixInspection]) -> None:
    for inspection in run:
        if inspection.endpoint is Endpoint.RESPONSES and inspection.has_final:
            assert "keep the stream" not in inspection.verdict.why


def test_what_was_told_to_the_client_is_an_error(run: Sequence[MatrixInspection]) -> None:
    quiet = [
        (capture.script.name, capture.endpoint)
        for capture in run
        if capture.score.outcome is ScriptOutcome.REPORTED and capture.verdict.level is not Level.ERROR
    ]
    assert quiet == []


def test_what_is_whole_and_well_formed_has_no_error(run: Sequence[MatrixInspection]) -> None:
    wrong = [
        (capture.script.name, capture.endpoint, explain(finding))
        for capture in run
        if capture.score.outcome is ScriptOutcome.COMPLETE and capture.script.well_formed
        for finding in capture.findings
        if finding.severity is Severity.ERROR
    ]
    assert wrong == []
