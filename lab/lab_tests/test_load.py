"""The result of concurrent streams, as lines and as a row."""

from harmony_lab.load import LoadResult, load_row, load_sentence
from harmony_lab.recording import Target
from inspector.capture.capture import Endpoint
from inspector.matrix.results import Score, ScriptOutcome
from inspector.matrix.scripts import named

LOST = Score(
    outcome=ScriptOutcome.SILENT, differences=('reasoning: nothing instead of "x"',), kinds=("dropped",)
)
WHOLE = Score(outcome=ScriptOutcome.COMPLETE, differences=(), kinds=())


def load(steps: str) -> LoadResult:
    return LoadResult(
        version="0.14.1",
        package="vllm-frontend",
        target=Target(Endpoint.CHAT, named(["final_only"])[0]),
        steps=steps,
        step_ms=20,
        scores=[LOST, LOST, WHOLE],
        merged=2,
        seconds=0.5,
    )


def test_load_sentence() -> None:
    assert load_sentence(load("1")) == [
        "3 streams of final_only at once on vllm-frontend 0.14.1, chat, 1 token per step, a step every 20 "
        "ms: 1 complete, 0 error reported, 2 silent loss.",
        "  33 tokens in 0.5 s, 66 tokens/s; 2 streams with merged steps.",
        '  2 times: reasoning: nothing instead of "x"',
    ]
    assert "chat, ragged steps, a step every 20 ms: " in load_sentence(load("ragged"))[0]


def test_load_row() -> None:
    row = load_row(load("1"))
    assert (row["whole"], row["told"], row["silent"], row["merged"], row["step_ms"]) == (1, 0, 2, 2, 20)
    assert (row["package"], row["endpoint"], row["steps"], row["tokens"]) == (
        "vllm-frontend",
        "chat",
        "1",
        33,
    )
