"""The folder of a probe: rows as they were, captures that are worth keeping, a run that goes on."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.capture.errors import StoreError
from inspector.fleet.probe import ProbeShelf, Result
from inspector.fleet.probe.shelf import CAPTURES_AT_MOST, row_of, row_values
from inspector.views.summary import Fix
from tests.support.builtin import CAPTURES, TOOL
from tests.support.probes import files, row

PLAN = {"servers": ["a"], "control": 0.0}


def test_rows_are_read_back_as_they_were(tmp_path: Path) -> None:
    shelf = ProbeShelf(tmp_path / "p", PLAN)
    probe_rows = [
        shelf.keep(row(number, result, kinds=("dropped",)), CAPTURES[TOOL])
        for number, result in enumerate(Result)
    ]
    shelf.close()
    reopened = ProbeShelf(tmp_path / "p", PLAN)
    assert reopened.rows == probe_rows
    assert reopened.capture(probe_rows[1]) is not None
    assert reopened.capture(probe_rows[0]) is None
    assert row_of(row_values(probe_rows[2])) == probe_rows[2]
    fixed = replace(
        probe_rows[2], response=replace(probe_rows[2].response, fixes=(Fix(text="x", url="matrix"),))
    )
    assert row_of(json.loads(json.dumps(row_values(fixed)))) == fixed
    earlier = row_values(probe_rows[2])
    del earlier["fixes"]
    assert row_of(earlier) == probe_rows[2]
    reopened.close()


def test_captures_that_are_in_order_are_kept_by_share_and_all_others(tmp_path: Path) -> None:
    shelf = ProbeShelf(tmp_path / "p", PLAN, keep_clean=0.25)
    for number in range(8):
        shelf.keep(row(number), CAPTURES[TOOL])
    shelf.keep(row(8, Result.UNKNOWN), CAPTURES[TOOL])
    shelf.close()
    assert files(tmp_path / "p") == [
        "ok-chat-4-00004.jsonl",
        "ok-chat-4-00008.jsonl",
        "unknown-chat-4-00009.jsonl",
    ]
    assert (tmp_path / "p").stat().st_mode & 0o777 == 0o700


def test_there_is_a_bound_on_captures(tmp_path: Path) -> None:
    shelf = ProbeShelf(tmp_path / "p", PLAN)
    shelf._kept = CAPTURES_AT_MOST
    assert shelf.keep(row(0, Result.DAMAGED), CAPTURES[TOOL]).capture == ""
    shelf.close()


def test_a_row_that_was_cut_is_left_out(tmp_path: Path) -> None:
    shelf = ProbeShelf(tmp_path / "p", PLAN)
    shelf.keep(row(0), CAPTURES[TOOL])
    shelf.close()
    path = tmp_path / "p" / "rows.jsonl"
    path.write_text(path.read_text() + path.read_text()[:50])
    reopened = ProbeShelf(tmp_path / "p", PLAN)
    assert len(reopened.rows) == 1
    reopened.close()
    assert path.read_text().count("\n") == 1


def test_a_damaged_row_is_left_out_and_the_others_are_kept(tmp_path: Path) -> None:
    shelf = ProbeShelf(tmp_path / "p", PLAN)
    shelf.keep(row(0), CAPTURES[TOOL])
    shelf.close()
    path = tmp_path / "p" / "rows.jsonl"
    content = path.read_bytes()
    path.write_bytes(content + b"\xff\xfe{\n" + content)
    reopened = ProbeShelf(tmp_path / "p", PLAN)
    assert len(reopened.rows) == 2
    reopened.close()


def test_two_probes_do_not_write_to_one_folder(tmp_path: Path) -> None:
    shelf = ProbeShelf(tmp_path / "p", PLAN)
    shelf.keep(row(0), CAPTURES[TOOL])
    with pytest.raises(StoreError, match="another probe is writing here"):
        ProbeShelf(tmp_path / "p", PLAN)
    shelf.keep(row(1), CAPTURES[TOOL])
    shelf.close()
    reopened = ProbeShelf(tmp_path / "p", PLAN)
    assert [row.number for row in reopened.rows] == [0, 1]
    reopened.close()


def test_another_plan_and_another_folder_are_refused(tmp_path: Path) -> None:
    ProbeShelf(tmp_path / "p", PLAN).close()
    with pytest.raises(StoreError, match="contains a probe with other control"):
        ProbeShelf(tmp_path / "p", {**PLAN, "control": 0.5})
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("x")
    with pytest.raises(StoreError, match="is not empty and not the folder of a probe"):
        ProbeShelf(tmp_path / "full", PLAN)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="file"):
        ProbeShelf(tmp_path / "file" / "p", PLAN)
    for content in ("{", "[]"):
        (tmp_path / "p" / "probe.json").write_text(content)
        with pytest.raises(StoreError, match="the earlier run cannot be read"):
            ProbeShelf(tmp_path / "p", PLAN)
