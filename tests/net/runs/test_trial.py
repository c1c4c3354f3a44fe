"""One prompt to two servers: who is asked what and when, what a failing side leaves; real sockets."""

import json
import threading
from collections.abc import Iterable

import pytest

from inspector.capture.errors import InspectorError
from inspector.inspection.inspection import inspect
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest
from inspector.net.runs.registry import TRIALS_KEPT, Registry
from inspector.net.runs.trial import AT_ONCE, RUNS_AT_MOST, Trial, has_output
from tests.support.answers import CHAT, DONE_EVENT, STREAM_EVENTS
from tests.support.listening import free_port
from tests.support.raw_server import Answer, RawRequest, RawServer, page, raw_server, stream

REQUEST = LiveRequest(model="openai/gpt-oss-20b", prompt="Hello")
COMPLETE: dict[str, Answer] = {CHAT: lambda _: stream([*STREAM_EVENTS, DONE_EVENT])}


def side(server: RawServer) -> tuple[Server, LiveRequest]:
    return Server(base_url=server.v1), REQUEST


def nobody() -> tuple[Server, LiveRequest]:
    return Server(base_url=f"http://127.0.0.1:{free_port()}"), REQUEST


def waited(registry: Registry, trial: Trial) -> Trial:
    assert all(registry.wait(run, 120) for run in trial.runs)
    assert trial.ended
    return trial


def test_both_servers_get_the_same_prompt_with_temperature_0_and_one_seed() -> None:
    registry = Registry(None)
    with raw_server(COMPLETE) as left, raw_server(COMPLETE) as right:
        trial = waited(registry, registry.start_trial(side(left), side(right)))
    [left_body], [right_body] = left.bodies(CHAT), right.bodies(CHAT)
    assert left_body == right_body
    assert (left_body["temperature"], left_body["seed"]) == (0.0, 0)
    assert left_body["messages"] == [{"role": "user", "content": "Hello"}]
    assert [run.address for run in trial.runs] == [left.v1, right.v1]
    assert [inspect(run.capture()).findings for run in trial.runs] == [[], []]
    assert trial.troubles() == []
    assert registry.trial(trial.id) is trial


def test_a_side_that_does_not_answer_leaves_the_other_one() -> None:
    registry = Registry(None)
    with raw_server(COMPLETE) as left:
        trial = waited(registry, registry.start_trial(side(left), nobody()))
    assert [has_output(run) for run in trial.runs] == [True, False]
    [trouble] = trial.troubles()
    assert trouble.startswith("Right: connection refused at http://127.0.0.1:")


def test_a_failure_of_several_runs_is_told_once_with_its_count() -> None:
    registry = Registry(None)
    with raw_server(COMPLETE) as left:
        trial = waited(registry, registry.start_trial(side(left), nobody(), runs=3))
    [trouble] = trial.troubles()
    assert trouble.startswith("Right, 3 of 3 runs: connection refused at")


def test_each_side_answers_a_few_runs_at_a_time() -> None:
    lock, counts, release = threading.Lock(), {"now": 0, "most": 0, "come": 0}, threading.Event()
    full = threading.Event()

    def answer(_: RawRequest) -> Iterable[bytes]:
        with lock:
            counts["now"] += 1
            counts["come"] += 1
            counts["most"] = max(counts["most"], counts["now"])
            if counts["come"] == AT_ONCE:
                full.set()
        yield from stream(STREAM_EVENTS[:1], end=False)
        assert release.wait(120)
        with lock:
            counts["now"] -= 1
        yield from list(stream([*STREAM_EVENTS[1:], DONE_EVENT]))[1:]

    registry = Registry(None)
    with raw_server({CHAT: answer}) as left, raw_server(COMPLETE) as right:
        trial = registry.start_trial(side(left), side(right), runs=7)
        assert full.wait(120)
        # The right side does not wait for the left one.
        assert all(registry.wait(run, 120) for run in trial.right)
        assert counts["come"] == AT_ONCE
        release.set()
        waited(registry, trial)
    assert counts["most"] == AT_ONCE
    assert len(left.bodies(CHAT)) == 7
    assert trial.troubles() == []


def test_stop_ends_the_runs_that_go_on_and_those_that_wait() -> None:
    registry = Registry(None)
    begun = threading.Event()
    with raw_server({}) as left, raw_server(COMPLETE) as right:

        def answer(_: RawRequest) -> Iterable[bytes]:
            yield from stream(STREAM_EVENTS[:2], end=False)
            begun.set()
            left.release.wait(120)

        left.answers[CHAT] = answer
        trial = registry.start_trial(side(left), side(right), runs=5)
        assert begun.wait(120)
        assert all(registry.wait(run, 120) for run in trial.right)
        trial.stop()
        waited(registry, trial)
    assert trial.troubles() == ["Left, 5 of 5 runs: stopped by you."]
    assert trial.counted == ((), trial.right)


@pytest.mark.parametrize("count", [0, -1, RUNS_AT_MOST + 1])
def test_a_number_of_runs_that_cannot_be_is_refused_before_anybody_is_asked(count: int) -> None:
    registry = Registry(None)
    with pytest.raises(InspectorError, match=f"choose 1 to {RUNS_AT_MOST}"):
        registry.start_trial(nobody(), nobody(), runs=count)
    assert registry.runs() == []


def test_old_trials_are_forgotten() -> None:
    registry = Registry(None)
    trials = [waited(registry, registry.start_trial(nobody(), nobody())) for _ in range(TRIALS_KEPT + 1)]
    assert registry.trial(trials[0].id) is None
    assert all(registry.trial(trial.id) is trial for trial in trials[1:])


def test_servers_behind_one_address_may_have_versions_of_their_own() -> None:
    registry = Registry(None)

    def version(request: RawRequest) -> Iterable[bytes]:
        return [page(200, json.dumps({"version": request.headers["x-version"]}), "application/json")]

    with raw_server({**COMPLETE, "/version": version}) as server:
        sides = [
            (Server(base_url=server.v1, headers={"X-Version": reported}), REQUEST)
            for reported in ("0.1.0", "0.2.0")
        ]
        trial = waited(registry, registry.start_trial(sides[0], sides[1]))
    assert [run.header.server_version for run in trial.runs] == ["0.1.0", "0.2.0"]
