"""The matrix as lines for the terminal."""

from dataclasses import replace

from harmony_lab.reporting import twin_lines
from inspector.capture.capture import Endpoint
from inspector.matrix.results import UNSTREAMED, Score, ScriptOutcome
from tests.support.results import made_run

RUN = replace(made_run("0.13.0", 1), package="vllm-frontend")


def test_twins_that_differ_are_named_with_their_outcomes() -> None:
    def scored(outcome: ScriptOutcome) -> dict[tuple[Endpoint, str], Score]:
        return {(Endpoint.CHAT, "plain"): Score(outcome=outcome, differences=(), kinds=())}

    streamed = replace(RUN, scores=scored(ScriptOutcome.COMPLETE))
    whole = replace(RUN, stream_interval=0, steps=UNSTREAMED, scores=scored(ScriptOutcome.SILENT))
    endpoints = [Endpoint.CHAT, Endpoint.RESPONSES]
    assert twin_lines([streamed, whole], endpoints) == [
        "0.13.0 (python), chat: streamed complete, not streamed silent loss: plain"
    ]
    assert twin_lines([streamed], endpoints) == ["No stream differs from its twin that is not streamed."]
