"""The shipped results on the stand-in engine: whole, equal to those of real engines, resting on captures."""

from collections import defaultdict

import pytest

from inspector.capture import Endpoint
from inspector.lab.results import STAND_IN, Run, capture_of, every_run, load_runs
from inspector.lab.score import score
from inspector.lab.scripts import ENDPOINTS, load
from inspector.lab.standin.install import FRONT_END, NEWEST_FRONT_END, RUST
from inspector.lab.standin.steps import RAGGED
from inspector.store import FIXTURES

RUNS = load_runs(FIXTURES / "matrix" / STAND_IN)
REAL = {(run.version, run.step): run for run in load_runs(FIXTURES / "matrix")}
BOTH = [run for run in RUNS if run.package == FRONT_END and (run.version, run.step) in REAL]


def test_oldest_and_newest_release_and_both_front_ends_are_there() -> None:
    assert {(FRONT_END, "0.10.2"), (FRONT_END, NEWEST_FRONT_END), (RUST, NEWEST_FRONT_END)} <= {
        (run.package, run.version) for run in RUNS
    }


def test_every_release_was_recorded_at_every_step_on_every_endpoint() -> None:
    steps = defaultdict(set)
    for run in RUNS:
        steps[run.package, run.version].add(run.step)
        endpoints = [one for one in ENDPOINTS if run.package != RUST or one is not Endpoint.RESPONSES]
        wanted = {(one, script.name) for one in endpoints for script in load() if one in script.endpoints}
        assert set(run.scores) == wanted, run.name
    assert all(some == {"1", "3", RAGGED} for some in steps.values()), steps


def test_at_least_two_releases_ran_on_both_engines() -> None:
    assert len({run.version for run in BOTH}) >= 2


@pytest.mark.parametrize("run", BOTH, ids=lambda run: run.name)
def test_the_stand_in_gives_the_outcomes_of_a_real_engine(run: Run) -> None:
    real = REAL[run.version, run.step]
    assert set(run.scores) == set(real.scores)
    differing = {
        key: (one.outcome.value, real.scores[key].outcome.value)
        for key, one in run.scores.items()
        if one.outcome is not real.scores[key].outcome
    }
    assert not differing


def test_scores_rest_on_captures_that_give_them_again() -> None:
    scripts = {script.name: script for script in load()}
    newest = [run for run in RUNS if run.version == NEWEST_FRONT_END and run.step == RAGGED]
    assert {run.front_end for run in newest} == {"python", "rust"}
    for run in newest:
        for (endpoint, name), shipped in run.scores.items():
            capture = capture_of(run, endpoint, name)
            assert capture is not None, (run.name, endpoint, name)
            assert capture.header.server_version == run.version
            assert score(scripts[name], capture) == shipped, (run.name, endpoint, name)


def test_every_stream_that_is_kept_elsewhere_is_there() -> None:
    names = {run.name: run for run in RUNS}
    for run in RUNS:
        for key, holder in run.kept_in.items():
            assert key in names[holder].scores
            assert key not in names[holder].kept_in
            assert names[holder].captures is not None


def test_runs_of_both_engines_have_names_of_their_own() -> None:
    runs = every_run()
    assert len({run.name for run in runs}) == len(runs)
