"""Which scans the dashboard offers, and that a row opens only what it was made from."""

import os
import zipfile
from pathlib import Path
from typing import Any

import fsspec
import pytest

from inspector.capture.errors import InspectorError, StoreError
from inspector.data.scan import Library
from inspector.data.scan.offers import (
    EXAMPLE,
    has_scans,
    offered_scans,
    open_row,
    scan_stamp,
    typed_place,
)
from inspector.files.store import FIXTURES, load
from tests.support.archives import id_lists, scanned

LEAK = FIXTURES / "chat-tool-call-leak-vllm-0.14.1.jsonl"


def first_row(out: Path) -> dict[str, Any]:
    with Library(out) as library:
        return library.rows(limit=1)[0]


def test_scans_of_the_captures_folder_and_of_the_setting_are_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_lists(tmp_path / "in", 1)
    outs = "captures/scan runs/one runs/two single elsewhere/one other/elsewhere/one hidden/deep/three"
    for out in outs.split():
        scanned(tmp_path / out, tmp_path / "in")
    monkeypatch.setenv("HARMONY_INSPECTOR_CAPTURES", str(tmp_path / "captures"))
    configured = [
        tmp_path / name
        for name in ("runs", "single", "elsewhere/one", "other/elsewhere", "hidden", "runs/one", "none")
    ]
    monkeypatch.setenv("HARMONY_INSPECTOR_SCANS", os.pathsep.join(map(str, configured)))
    offered = offered_scans()
    names = ["scan", "one", "two", "single", "elsewhere/one", "other/elsewhere/one", "example"]
    assert list(offered) == names
    assert offered["one"] == tmp_path / "runs" / "one"
    before = scan_stamp(offered["one"])
    (tmp_path / "in" / "new.json").write_text("[200002]")
    scanned(offered["one"])
    assert scan_stamp(offered["one"]) != before
    with pytest.raises(StoreError, match="the scan no longer exists"):
        scan_stamp(tmp_path)


def test_a_row_opens_the_capture_that_it_was_made_from(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.write(LEAK, "deep/leak.jsonl")
    for place in (LEAK, tmp_path / "all.zip"):
        [row] = scanned(tmp_path / "out", place)
        assert open_row(row) == load(LEAK)


def test_what_is_typed_is_a_place_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    id_lists(tmp_path / "in", 1)
    scanned(tmp_path / "outs" / "one", tmp_path / "in")
    assert typed_place(f" {tmp_path / 'in'} ") == tmp_path / "in"
    assert not has_scans(tmp_path / "in")
    assert has_scans(tmp_path / "outs")
    monkeypatch.chdir(tmp_path)
    for text in ("in", "", str(tmp_path / "none"), "https://example.org/x", "\0", "~nobody-of-this-name/x"):
        with pytest.raises(InspectorError, match="no such folder or file; type its full path"):
            typed_place(text)


def test_the_rows_of_the_example_open_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    row = first_row(EXAMPLE)
    assert not Path(row["path"]).is_absolute()
    assert open_row(row).events


def test_a_row_opens_no_other_content(tmp_path: Path) -> None:
    [path] = id_lists(tmp_path / "in", 1)
    [row] = scanned(tmp_path / "out", path)
    secret = tmp_path / "secret.json"
    secret.write_text("[1, 2, 3]")
    os.mkfifo(tmp_path / "pipe")
    for changed, words in (
        ({"path": str(secret)}, "has changed since the scan"),
        ({"path": str(tmp_path / "none")}, "no longer exists"),
        ({"path": str(tmp_path / "pipe")}, "no longer exists"),
        ({"path": "/dev/zero"}, "no longer exists"),
        ({"path": "\0"}, "no longer exists"),
        ({"number": 2}, "has only 1 captures"),
        ({"digest": None}, "could not be read by the scan"),
        ({"member": "x.json"}, "damaged"),
    ):
        with pytest.raises(InspectorError, match=words):
            open_row({**row, **changed})
    path.write_text("[200002]")
    with pytest.raises(InspectorError, match="has changed since the scan; scan again"):
        open_row(row)


def test_a_remote_place_is_asked_only_if_the_operator_allowed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fsspec.filesystem("memory")
    store.pipe_file("/offers-test/runs/leak.jsonl", LEAK.read_bytes())
    try:
        [row] = scanned(tmp_path / "out", "memory://offers-test/runs")
        for setting in ("", "s3://other/", "memory:///offers-test/run", "memory:", "memory:///"):
            monkeypatch.setenv("HARMONY_INSPECTOR_REMOTE", setting)
            with pytest.raises(
                InspectorError, match=r"start the dashboard with HARMONY_INSPECTOR_REMOTE=memory:"
            ):
                open_row(row)
        for setting in ("memory:///offers-test/", "x memory:///offers-test/runs", row["path"]):
            monkeypatch.setenv("HARMONY_INSPECTOR_REMOTE", setting)
            assert open_row(row) == load(LEAK)
        with pytest.raises(InspectorError, match="start the dashboard with"):
            open_row({**row, "path": "memory:///offers-test/runs/../secret.json"})
    finally:
        store.rm("/offers-test", recursive=True)
