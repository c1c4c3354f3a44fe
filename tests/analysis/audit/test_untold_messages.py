"""Responses whose `output_messages` have headers and no texts (vLLM up to 0.19): what their items settle."""

import json
from dataclasses import replace

import pytest

from inspector.analysis.audit.verdict import Level
from inspector.capture.capture import Capture, Endpoint
from inspector.files.store import FIXTURES
from inspector.inspection.inspection import Inspection, inspect
from inspector.matrix.results import captures_of, load_runs
from inspector.protocol.harmony.reconstruction import Certainty

_MATRIX = FIXTURES / "matrix"
_STAND_IN = _MATRIX / "stand-in"
_NO_TEXTS = (
    "The messages in `output_messages` have no texts, and the web_search_call item does not have the text "
    "that the model wrote to the tool."
)


def _capture(version: str, script: str, *, step: str = "1") -> Capture:
    folder = _MATRIX if version == "0.14.1" and step == "1" else _STAND_IN
    run = next(run for run in load_runs(folder) if (run.version, run.step) == (version, step))
    named = {(endpoint, name): capture for endpoint, name, capture in captures_of(run)}
    return named[Endpoint.RESPONSES, script]


def _inspection_of(version: str, script: str, *, step: str = "1") -> Inspection:
    return inspect(_capture(version, script, step=step))


@pytest.mark.parametrize(
    ("version", "step", "script", "why"),
    [
        (
            "0.14.1",
            "1",
            "turn_browser_unstreamed",
            f"{_NO_TEXTS} vLLM up to 0.19 leaves them empty in responses that are not streamed. To find out, "
            "send the request with `stream: true`.",
        ),
        (
            "0.11.0",
            "1",
            "turn_browser",
            f"{_NO_TEXTS} vLLM up to 0.11 leaves them empty. To find out, send the request to a newer "
            "release.",
        ),
        (
            "0.10.2",
            "unstreamed",
            "turn_python_twice",
            "The server counted 4 tokens more than its texts encode to. “ to=python code” in a header would "
            "explain it. The request asks for the messages (`enable_response_messages`), but the response "
            "has none. To find out, send it to a release that returns them.",
        ),
    ],
)
def test_what_is_missing_and_what_would_settle_it_is_said(
    version: str, step: str, script: str, why: str
) -> None:
    assert _inspection_of(version, script, step=step).verdict.why == why


def test_items_in_another_order_than_the_messages_settle_nothing() -> None:
    capture = _capture("0.14.1", "turn_commentary_answer_unstreamed")
    response = json.loads(capture.events[0].data)
    response["output"].reverse()
    events = [capture.events[0]._replace(data=json.dumps(response)), *capture.events[1:]]
    judged = inspect(replace(capture, events=events)).verdict
    assert judged.level is Level.UNKNOWN
    assert judged.why.startswith(
        "The messages in `output_messages` have no texts, and the items are not the same messages in the "
        "same order. "
    )


def test_what_the_request_asked_for_already_is_never_the_advice() -> None:
    runs = [run for run in load_runs(_STAND_IN) if run.step == "unstreamed"]
    for run in [
        matrix_run for matrix_run in runs if matrix_run.version in {"0.10.2", "0.11.0", "0.13.0", "0.17.1"}
    ]:
        for endpoint, name, capture in captures_of(run):
            if endpoint is Endpoint.RESPONSES and name.startswith(("turn_", "preamble_", "half_")):
                assert "with `enable_response_messages" not in inspect(capture).verdict.why, name


@pytest.mark.parametrize(
    ("version", "step", "script"),
    [
        ("0.14.1", "1", "turn_commentary_answer_unstreamed"),
        ("0.16.0", "unstreamed", "turn_commentary_answer"),
        ("0.13.0", "unstreamed", "preamble_final"),
    ],
)
def test_a_preamble_returned_as_reasoning_is_misrouted_and_the_code_of_a_tool_is_not(
    version: str, step: str, script: str
) -> None:
    inspection = _inspection_of(version, script, step=step)
    assert [(str(finding.kind), finding.field, finding.delivered_in) for finding in inspection.findings] == [
        ("misrouted", "content", "reasoning")
    ]
    assert inspection.findings[0].generated in {"It ran.", "Here is my plan."}
    assert inspection.findings[0].known_issues[0] == "responses-preamble-as-reasoning"


def test_an_answer_between_two_turns_without_counts_is_nobodys_tokens() -> None:
    capture = _capture("0.11.0", "turn_python_twice", step="unstreamed")
    reconstruction = inspect(capture).reading.choice.reconstruction
    assert reconstruction is not None
    assert reconstruction.certainty in {Certainty.CONFIRMED, Certainty.AMBIGUOUS}
    assert len(reconstruction.ids) == len(capture.header.script or ())
