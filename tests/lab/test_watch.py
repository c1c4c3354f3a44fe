"""New releases of the package index against the results."""

from dataclasses import replace
from pathlib import Path

import pytest

from inspector.capture.capture import Endpoint
from inspector.lab.gate import gate, gate_lines
from inspector.lab.install import write_record
from inspector.lab.matrix import targets_of
from inspector.lab.paths import LabPaths
from inspector.lab.score import Outcome
from inspector.lab.scripts import named
from inspector.lab.session import LabSession
from inspector.lab.watch import Watched, record_new, report_lines, report_markdown, unrecorded
from tests.support.results import front_end_run

BASE = [
    front_end_run("0.31.0", step, plain=Outcome.WHOLE, emoji=Outcome.TOLD, cjk=Outcome.SILENT)
    for step in (1, 3)
]
CHANGE = [
    front_end_run("0.32.0", step, plain=Outcome.WHOLE, emoji=Outcome.SILENT, cjk=Outcome.WHOLE)
    for step in (1, 3)
]


@pytest.mark.parametrize(
    ("newest", "new"),
    [
        ("0.33.0", []),
        ("0.32.0", ["0.32.1", "0.33.0"]),
        ("0.9.0", ["0.10.2", "0.32.1", "0.33.0"]),
        (None, ["0.33.0"]),
    ],
)
def test_what_is_new_comes_after_the_newest_release_recorded(newest: str | None, new: list[str]) -> None:
    assert unrecorded(["0.10.2", "0.32.1", "0.33.0"], newest) == new


def test_without_a_new_release_nothing_is_recorded_and_it_says_so(tmp_path: Path) -> None:
    lab = LabSession(paths=LabPaths(tmp_path), package="vllm-frontend")
    found = record_new(lab, ["0.31.0", "0.32.0"], (), folder=tmp_path, steps=["1"], known=[*BASE, *CHANGE])
    assert found == Watched(newest="0.32.0", recorded=(), changes=())
    assert report_lines(found) == ["No release after 0.32.0 on the package index."]
    assert report_markdown(found) == report_lines(found)[0]
    assert list(tmp_path.iterdir()) == []


def test_a_release_of_which_cells_are_missing_is_not_taken_as_recorded_and_a_wheel_is_no_release(
    tmp_path: Path,
) -> None:
    lab = LabSession(paths=LabPaths(tmp_path), package="vllm-frontend")
    targets = targets_of([Endpoint.CHAT], named(["plain", "emoji", "cjk"]))
    interrupted = [front_end_run("0.32.0", 1, plain=Outcome.WHOLE), *CHANGE[1:]]
    wheel = [replace(run, version="0.34.0+w1") for run in CHANGE]
    newest = [
        record_new(lab, ["0.31.0"], targets, folder=tmp_path, steps=["1", "3"], known=[*BASE, *some]).newest
        for some in ([*interrupted, *wheel], CHANGE)
    ]
    assert newest == ["0.31.0", "0.32.0"]


def test_a_release_that_cannot_be_recorded_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    lab = LabSession(paths=LabPaths(tmp_path), package="vllm-frontend", say=lambda _: None)
    for version in ("0.32.0", "0.33.0"):
        place = lab.paths.environment(lab.package, version)
        place.mkdir(parents=True)
        write_record(place, lab.package, version, {})
    # Without a script to ask for nothing is started.
    found = record_new(
        lab, ["0.32.0", "0.33.0"], (), folder=tmp_path, steps=["1"], known=[*BASE, *CHANGE], after="0.31.0"
    )
    assert (found.newest, found.recorded, list(found.failed)) == ("0.31.0", (), ["0.32.0", "0.33.0"])
    assert not found.passed
    assert report_lines(found)[0].startswith("0.32.0 was not recorded: none of these scripts")
    assert report_markdown(found) == "\n\n".join(report_lines(found))


def test_the_report_has_what_each_new_release_changed() -> None:
    found = Watched(newest="0.31.0", recorded=("0.32.0",), changes=(gate(BASE, CHANGE),))
    assert report_lines(found)[:2] == [
        "Recorded: 0.32.0.",
        gate_lines(gate(BASE, CHANGE))[0],
    ]
    assert report_markdown(found).startswith("### Harmony streams: 0.32.0 against 0.31.0\n")
