"""What to do: upgrades that the matrix bears out, and none that the server has reached."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import product

import pytest

from inspector.analysis.reading import Reader, read
from inspector.capture.capture import Capture, Endpoint, Header
from inspector.files.store import FIXTURES, builtin, load
from inspector.issues import Situation, catalogue, first_step, issues, situation_of, steps_for
from inspector.issues.catalogue.steps import MEASURED_FILE, measured
from inspector.issues.catalogue.table import read_catalogue
from inspector.issues.catalogue.versions import as_version
from inspector.matrix.results import STAND_IN, load_runs, version_key
from inspector.protocol.engines import DEFAULT, ENGINES
from tests.support.entries import ENTRY, written
from tests.support.streams import CLEAN, chat
from tools.make_measured import measured_table

CROSSING = "chat-stream-multi-channel-chunk"


def test_the_table_is_that_of_the_matrix() -> None:
    assert json.loads(MEASURED_FILE.read_text("utf-8")) == measured_table(FIXTURES / "matrix"), (
        "python -m tools.make_measured writes it"
    )


@pytest.mark.parametrize(
    ("version", "first"),
    [
        (None, "Upgrade to vLLM 0.25.0 or newer, which repairs it (from the source code, not measured)."),
        ("0.24.0", "Upgrade to vLLM 0.25.0 or newer, which repairs it (from the source code, not measured)."),
        ("0.25.0", "Look at the ids."),
        ("0.32.0+cpu", "Look at the ids."),
    ],
)
def test_no_server_is_told_to_upgrade_to_a_release_that_it_has_reached(
    version: str | None, first: str
) -> None:
    steps = [
        {"upgrade": "0.25.0", "why": "which repairs it"},
        {"upgrade": "0.11.0"},
        {"until": "send single turns"},
        "Look at the ids.",
    ]
    [issue] = read_catalogue(written({**ENTRY, "steps": steps}))
    chosen = steps_for(issue, Situation(version=version))
    assert chosen[0] == first
    assert ("Until then, send single turns." in chosen) is first.startswith("Upgrade")


def test_a_step_is_given_only_in_the_situation_that_it_is_for() -> None:
    steps = [
        {"when": ["end_unknown"], "step": "Check finish_reason."},
        {"when": ["ended_at_limit"], "step": "Raise max_tokens."},
        {"token_ids": False, "step": "Record the token IDs."},
        {"endpoints": ["chat"], "step": "Compare the counts."},
        "Send it again.",
    ]
    [issue] = read_catalogue(written({**ENTRY, "steps": steps}))
    assert steps_for(issue, Situation()) == (
        "Check finish_reason.",
        "Record the token IDs.",
        "Compare the counts.",
        "Send it again.",
    )
    cut, stopped = (read(chat(CLEAN, finish=finish)) for finish in ("length", "stop"))
    at_limit = Situation(reading=cut, token_ids=True, endpoint=Endpoint.RESPONSES)
    assert steps_for(issue, at_limit) == ("Raise max_tokens.", "Send it again.")
    assert steps_for(issue, Situation(reading=stopped, token_ids=True))[0] == "Compare the counts."


def chosen(steps: Sequence[object], request: Mapping[str, object]) -> tuple[str, ...]:
    """The steps for a response to a request, of which nothing else is known."""
    [issue] = read_catalogue(written({**ENTRY, "steps": steps}))
    header = Header(endpoint=Endpoint.RESPONSES, request=request)
    return steps_for(issue, situation_of(read(Capture(header=header, events=[]))))


def test_nothing_that_a_capture_shows_is_to_be_checked() -> None:
    steps = [{"captured": False, "step": "Compare the counts."}, "Send it again."]
    [issue] = read_catalogue(written({**ENTRY, "steps": steps}))
    assert steps_for(issue, Situation()) == ("Compare the counts.", "Send it again.")
    assert chosen(steps, {}) == ("Send it again.",)


@pytest.mark.parametrize(
    ("request_body", "offered"),
    [
        ({}, False),
        ({"input": "Hi", "tools": []}, False),
        ({"input": "Hi", "previous_response_id": "resp_1"}, False),
        ({"input": "Hi", "tools": [{"type": "function", "name": "f"}]}, True),
    ],
)
def test_a_step_for_a_request_without_tools(request_body: dict[str, object], offered: bool) -> None:
    steps = [{"when": ["not tools_offered"], "step": "Offer the tools."}, "Send it again."]
    assert ("Offer the tools." in chosen(steps, request_body)) is not offered


@pytest.mark.parametrize("asked", [True, False])
def test_a_step_for_a_request_that_asks_for_token_ids(asked: bool) -> None:
    steps = [{"when": [name], "step": f"{name}."} for name in ("ids_asked", "not ids_asked")]
    [issue] = read_catalogue(written({**ENTRY, "steps": steps}))
    header = Header(endpoint=Endpoint.CHAT, request={"return_token_ids": asked, "stream": True})
    reading = read(Capture(header=header, events=[]))
    assert steps_for(issue, situation_of(reading)) == ("ids_asked." if asked else "not ids_asked.",)
    assert steps_for(issue, Situation()) == ("not ids_asked.",)


def test_no_release_is_advised_for_what_no_release_parses() -> None:
    steps = [{"upgrade": "0.25.0"}, "Change your own parser."]
    [issue] = read_catalogue(written({**ENTRY, "steps": steps}))
    assert steps_for(issue, Situation(endpoint=Endpoint.COMPLETIONS)) == ("Change your own parser.",)
    assert "Upgrade" in first_step(issue, Situation(endpoint=Endpoint.CHAT))


def test_an_upgrade_marked_as_measured_is_not_said_to_be_read_in_the_code() -> None:
    step = {"measured": True, "upgrade": "0.24.0"}
    [issue] = read_catalogue(written({**ENTRY, "steps": [step]}))
    assert first_step(issue, Situation(version="0.20.0")) == "Upgrade to vLLM 0.24.0 or newer."


@pytest.mark.parametrize(
    ("finish", "name"),
    [
        ("stop", "ended_by_model"),
        ("length", "ended_at_limit"),
        ("abort", "end_unknown"),
        (None, "end_unknown"),
    ],
)
def test_the_end_of_a_response_is_read_from_its_finish_reason(finish: str | None, name: str) -> None:
    names = ("ended_by_model", "ended_at_limit", "end_unknown")
    steps = [{"when": [name], "step": f"{name}."} for name in names]
    [issue] = read_catalogue(written({**ENTRY, "steps": steps}))
    assert steps_for(issue, situation_of(read(chat(CLEAN, finish=finish)))) == (f"{name}.",)


def test_a_server_past_every_upgrade_is_told_to_report() -> None:
    [issue] = read_catalogue(written({**ENTRY, "steps": [{"upgrade": "0.11.0"}]}))
    assert steps_for(issue, Situation(version="0.32.0")) == (
        "vLLM 0.32.0 already has the known fix: report this stream to its developers.",
    )


def test_an_upgrade_is_the_first_release_measured_right_for_the_class_of_stream() -> None:
    issue = issues()[CROSSING]

    def upgrade_of(**situation: object) -> str:
        return first_step(issue, Situation(**situation))  # type: ignore[arg-type]

    with_calls = "Upgrade to vLLM 0.24.0 or newer, the first release measured"
    assert upgrade_of(version="0.14.1", endpoint=Endpoint.CHAT, calls=True).startswith(with_calls)
    assert upgrade_of(version="0.14.1", endpoint=Endpoint.CHAT).startswith(with_calls)
    assert upgrade_of(version="0.14.1").startswith(with_calls)
    without = upgrade_of(version="0.14.1", endpoint=Endpoint.CHAT, calls=False)
    assert without.startswith("Upgrade to vLLM 0.15.1 or newer, the first release measured")


def test_responses_are_told_to_upgrade_past_the_releases_that_still_lose() -> None:
    for name in ("responses-stream-missing-tokens", "responses-stream-cross-channel"):
        for version in (None, "0.12.0", "0.14.1", "0.23.0"):
            step = first_step(issues()[name], Situation(version=version, endpoint=Endpoint.RESPONSES))
            assert step.startswith("Upgrade to vLLM 0.25.1 or newer, the first release measured"), (
                name,
                version,
            )


def test_what_no_release_delivers_is_not_cured_by_an_upgrade() -> None:
    issue = issues()["unfinished-header-as-content"]
    steps = steps_for(issue, Situation(version="0.27.1", endpoint=Endpoint.CHAT))
    assert not [step for step in steps if step.startswith("Upgrade")]
    assert steps[-1].startswith("No release measured delivers such streams completely")


def test_each_front_end_is_told_what_was_measured_of_itself() -> None:
    [rust] = [engine for engine in ENGINES if engine.name == "vllm-rust"]
    measurements = {
        engine.name: measured(
            "unknown-role-duplicated-channel", Situation(endpoint=Endpoint.CHAT, engine=engine)
        )
        for engine in (DEFAULT, rust)
    }
    assert {name: measurement and measurement.first_right for name, measurement in measurements.items()} == {
        "vllm": "0.31.0",
        "vllm-rust": "0.25.1",
    }
    assert measured("responses-stream-missing-tokens", Situation(engine=rust)) is None


def test_what_every_release_of_a_front_end_delivers_needs_no_upgrade() -> None:
    [rust] = [engine for engine in ENGINES if engine.name == "vllm-rust"]
    measurement = measured(CROSSING, Situation(endpoint=Endpoint.CHAT, engine=rust))
    assert measurement is not None
    assert measurement.first_right == measurement.oldest
    assert not any(
        "Upgrade to vLLM (Rust" in step for step in steps_for(issues()[CROSSING], Situation(engine=rust))
    )


def test_the_lost_call_of_the_rust_front_end_has_no_upgrade_up_to_its_newest_release() -> None:
    [rust] = [engine for engine in ENGINES if engine.name == "vllm-rust"]
    steps = steps_for(
        issues()["rust-call-without-arguments"],
        Situation(version="0.31.0", endpoint=Endpoint.CHAT, calls=True, engine=rust),
    )
    assert steps[-1] == (
        "No release measured delivers such streams completely, up to vLLM (Rust front end) 0.33.0."
    )


def test_every_upgrade_that_is_told_is_measured_or_says_that_it_is_not() -> None:
    folders = (FIXTURES / "matrix", FIXTURES / "matrix" / STAND_IN)
    releases = [as_version(run.version) for folder in folders for run in load_runs(folder)]
    wrong = []
    for issue in catalogue():
        for endpoint in (None, *Endpoint):
            for step in steps_for(issue, Situation(endpoint=endpoint)):
                if not re.match(r"(?:Or )?[Uu]pgrade", step) or "not measured" in step:
                    continue
                versions = [as_version(name) for name in re.findall(r"\b\d+\.\d+\.\d+\b", step)]
                if versions and max(version for version in versions if version) not in releases:
                    wrong.append((issue.id, endpoint, step))
    assert wrong == []


def test_no_fixture_is_told_to_upgrade_to_what_it_runs() -> None:
    situations = [situation_of(read(load(example.path))) for example in builtin()]
    with_version = [situation for situation in situations if situation.version is not None]
    assert len(with_version) >= 4
    for situation, issue in product(with_version, catalogue()):
        for step in steps_for(issue, situation):
            versions = re.findall(r"\b\d+\.\d+\.\d+\b", step) if re.match(r"[Uu]pgrade", step) else []
            if versions:
                assert max(map(version_key, versions)) > version_key(situation.version or ""), step


def test_a_stream_that_goes_on_may_still_call_a_function() -> None:
    capture = load(next(example.path for example in builtin() if "chat-whole-vllm" in example.name))
    reader = Reader(capture.header)
    reader.receive(capture.events[:3])
    assert situation_of(reader.reading()).calls is None
    reading = read(capture)
    assert situation_of(reading).calls is bool(reading.choice.expected.calls)
