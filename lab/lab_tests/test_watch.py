"""New releases on the package index, compared with the results."""

from dataclasses import replace
from pathlib import Path

import pytest

from harmony_lab.gate import gate, gate_lines
from harmony_lab.install import write_record
from harmony_lab.matrix import targets_of
from harmony_lab.paths import LabPaths
from harmony_lab.session import LabSession
from harmony_lab.watch import WatchReport, record_new, report_lines, report_markdown, unrecorded
from inspector.capture.capture import Endpoint
from inspector.matrix.results import ScriptOutcome
from inspector.matrix.scripts import named
from tests.support.results import front_end_run

BASE = [
    front_end_run(
        "0.31.0", step, plain=ScriptOutcome.COMPLETE, emoji=ScriptOutcome.REPORTED, cjk=ScriptOutcome.SILENT
    )
    for step in (1, 3)
]
CHANGE = [
    front_end_run(
        "0.32.0", step, plain=ScriptOutcome.COMPLETE, emoji=ScriptOutcome.SILENT, cjk=ScriptOutcome.COMPLETE
    )
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
def test_unrecorded_releases(newest: str | None, new: list[str]) -> None:
    assert unrecorded(["0.10.2", "0.32.1", "0.33.0"], newest) == new


def test_record_new_without_new_release(tmp_path: Path) -> None:
    lab = LabSession(paths=LabPaths(tmp_path), package="vllm-frontend")
    report = record_new(
        lab, ["0.31.0", "0.32.0"], (), folder=tmp_path, steps=["1"], other_runs=[*BASE, *CHANGE]
    )
    assert report == WatchReport(newest="0.32.0", recorded=(), changes=())
    assert report_lines(report) == ["No release after 0.32.0 on the package index."]
    assert report_markdown(report) == report_lines(report)[0]
    assert list(tmp_path.iterdir()) == []


def test_record_new_ignores_incomplete_releases_and_wheels(
    tmp_path: Path,
) -> None:
    lab = LabSession(paths=LabPaths(tmp_path), package="vllm-frontend")
    targets = targets_of([Endpoint.CHAT], named(["plain", "emoji", "cjk"]))
    interrupted = [front_end_run("0.32.0", 1, plain=ScriptOutcome.COMPLETE), *CHANGE[1:]]
    wheel = [replace(run, version="0.34.0+w1") for run in CHANGE]
    newest = [
        record_new(
            lab, ["0.31.0"], targets, folder=tmp_path, steps=["1", "3"], other_runs=[*BASE, *runs]
        ).newest
        for runs in ([*interrupted, *wheel], CHANGE)
    ]
    assert newest == ["0.31.0", "0.32.0"]


def test_record_new_goes_on_after_a_failure(tmp_path: Path) -> None:
    lab = LabSession(paths=LabPaths(tmp_path), package="vllm-frontend", say=lambda _: None)
    for version in ("0.32.0", "0.33.0"):
        place = lab.paths.environment(lab.package, version)
        place.mkdir(parents=True)
        write_record(place, lab.package, version, {})
    # Without a script to ask for nothing is started.
    report = record_new(
        lab,
        ["0.32.0", "0.33.0"],
        (),
        folder=tmp_path,
        steps=["1"],
        other_runs=[*BASE, *CHANGE],
        after="0.31.0",
    )
    assert (report.newest, report.recorded, list(report.failed)) == ("0.31.0", (), ["0.32.0", "0.33.0"])
    assert not report.passed
    assert report_lines(report)[0].startswith("0.32.0 was not recorded: none of these scripts")
    assert report_markdown(report) == "\n\n".join(report_lines(report))


def test_watch_report() -> None:
    report = WatchReport(newest="0.31.0", recorded=("0.32.0",), changes=(gate(BASE, CHANGE),))
    assert report_lines(report)[:2] == [
        "Recorded: 0.32.0.",
        gate_lines(gate(BASE, CHANGE))[0],
    ]
    assert report_markdown(report).startswith("### Harmony streams: 0.32.0 against 0.31.0\n")
