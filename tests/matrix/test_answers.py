"""What `matrix` says of releases: the counts of the stored results, by release and by class."""

import json

import pytest

from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.matrix.answers import STEPS, matrix_answer
from inspector.matrix.checkup import release_rows
from inspector.matrix.results import ScriptOutcome
from inspector.matrix.scripts import ENDPOINTS
from inspector.protocol.engines.vllm import VLLM
from tests.support.command import inspector

OUTCOMES = [str(outcome) for outcome in ScriptOutcome]


@pytest.mark.parametrize("release", ["0.10.2", "0.24.0", "0.33.0"])
@pytest.mark.parametrize("steps", STEPS)
def test_every_count_is_that_of_the_server_check_and_the_classes_are_all_of_it(
    release: str, steps: str
) -> None:
    by_place = {(row["endpoint"], row["steps"]): row for row in release_rows(release)}
    for endpoint in (endpoint for endpoint in ENDPOINTS if VLLM.serves(endpoint, release)):
        answer = matrix_answer(endpoint, release=release, steps=steps)
        (row,) = answer["releases"]
        for key in ("scripts", *OUTCOMES):
            assert row[key] == by_place[endpoint.value, steps][key]
            assert row[key] == sum(of_class[key] for of_class in answer["classes"])


def test_a_class_is_complete_from_the_named_release_on_and_not_in_the_one_before() -> None:
    releases = [row["release"] for row in reversed(matrix_answer(Endpoint.CHAT)["releases"])]
    since = {row["class"]: row["complete_since"] for row in matrix_answer(Endpoint.CHAT)["classes"]}
    complete = {
        release: {
            row["class"]
            for row in matrix_answer(Endpoint.CHAT, release=release)["classes"]
            if row["whole"] == row["scripts"]
        }
        for release in releases
    }
    assert since["tool calls"] == "0.24.0"
    for name, first in since.items():
        place = len(releases) if first is None else releases.index(first)
        assert all(name in complete[release] for release in releases[place:])
        assert name not in complete[releases[place - 1]]


def test_a_minor_release_and_a_local_part_name_the_measured_release() -> None:
    for release in ("0.32", "0.32.0+cu128", "v0.32.0"):
        assert matrix_answer(Endpoint.CHAT, release=release) == matrix_answer(Endpoint.CHAT, release="0.32.0")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"release": "0.23.9"}, "the nearest older one is 0.23.0; it has 0.10.2, "),
        ({"release": "newest"}, "no vLLM newest; it has 0.10.2, "),
        ({"release": "9" * 9999}, "no vLLM 999"),
        ({"server": "llama-server"}, "it has 1 and unstreamed"),
        ({"server": "dynamo", "endpoint": Endpoint.RESPONSES}, "it has other endpoints only"),
        (
            {"server": "rust", "endpoint": Endpoint.MESSAGES},
            "/v1/messages: it answers HTTP 501",
        ),
    ],
)
def test_what_was_not_measured_is_an_error_that_says_what_was(options: dict[str, str], words: str) -> None:
    with pytest.raises(LabError, match=words):
        matrix_answer(**{"endpoint": Endpoint.CHAT, **options})  # type: ignore[arg-type]


def test_the_command_prints_one_release_by_class() -> None:
    done = inspector("matrix", "0.24.0")
    assert done.returncode == 0
    first, head, *rows = done.stdout.decode().splitlines()
    assert first == "All scripts: vLLM 0.24.0 loses text silently in 8 of 97."
    assert head.split() == ["0.24.0", "complete", "error", "reported", "silent", "loss", "complete", "since"]
    assert [row.split()[-1] for row in rows] == ["0.15.1", "0.24.0", "-", "-", "-", "-"]
    as_json = json.loads(inspector("matrix", "0.24.0", "--json").stdout)
    assert as_json == matrix_answer(Endpoint.CHAT, release="0.24.0")
