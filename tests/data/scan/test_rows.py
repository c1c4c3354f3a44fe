"""One file to its rows: the same as `audit`, and a row for whatever cannot be read."""

import json
import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from inspector.data.scan.columns import CAPTURES, FINDINGS, version_order
from inspector.data.scan.items import ItemReader, ScanItem, as_text
from inspector.data.scan.offers import open_row
from inspector.data.scan.rows import capture_key, digest_of, rows_of
from inspector.files.store import FIXTURES, builtin, load, save
from inspector.inspection.inspection import inspect
from inspector.views.rows import audit_dict
from tests.support.archives import IDS, as_dicts, items_of
from tests.support.builtin import CAPTURES as BUILT_IN
from tests.support.builtin import COMPLETE_CHAT


def test_rows_have_what_audit_prints() -> None:
    for fixture in builtin():
        [item] = items_of(fixture.path)
        [row], findings = as_dicts(rows_of(item, ItemReader()))
        audited = audit_dict(inspect(load(fixture.path)))
        assert row["verdict"] == audited["verdict"]["level"] == fixture.verdict
        assert row["sentence"] == audited["verdict"]["sentence"]
        assert row["evidence"] == audited["evidence"]
        assert row["endpoint"] == audited["endpoint"]
        assert row["version"] == audited["server_version"] == fixture.server_version
        assert row["model"] == audited["model"]
        assert row["finish_reason"] == audited["finish_reason"]
        assert row["tokens"] == (audited["tokens"]["count"] or None)
        assert row["cause"] == (audited["verdict"]["cause"] or {"id": None})["id"]
        assert row["digest"] == digest_of(fixture.path.read_bytes())
        assert row["size"] == fixture.path.stat().st_size
        assert row["errors"] == sum(finding["severity"] == "error" for finding in audited["findings"])
        assert row["findings"] == len(findings) == len(audited["findings"])
        for place, (finding, expected) in enumerate(zip(findings, audited["findings"], strict=True), 1):
            assert (finding["capture"], finding["place"]) == (row["id"], place)
            for key in ("kind", "code", "severity", "field", "choice", "delivered_in", "token_end"):
                assert finding[key] == expected[key]
            assert finding["token"] == expected["token_start"]
            assert finding["event"] == expected["event_start"]
            assert finding["message"] == expected["explanation"]
            assert finding["finding_cause"] == (expected["cause"] or {"id": None})["id"]
            assert finding["position"] is None or 0 <= finding["position"] <= 1


def test_a_leak_has_its_channel_and_position() -> None:
    [item] = items_of(FIXTURES / "chat-tool-call-leak-vllm-0.14.1.jsonl")
    [row], findings = as_dicts(rows_of(item, ItemReader()))
    assert [(finding["kind"], finding["channel"], finding["token"]) for finding in findings] == [
        ("misrouted", "analysis", 4),
        ("dropped", "commentary", 21),
        ("invalid_tool_arguments", "commentary", 21),
    ]
    assert findings[0]["position"] == 4 / row["tokens"]
    assert row["tokens_per_event"] == 3
    assert row["first_token_s"] == pytest.approx(0.029174)


def test_a_file_of_several_captures_has_a_row_for_each(tmp_path: Path) -> None:
    stream = 'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
    path = tmp_path / "both.txt"
    path.write_text((stream + "data: [DONE]\n\n") * 2)
    [item] = items_of(path)
    rows, _ = as_dicts(rows_of(item, ItemReader()))
    assert [(row["name"], row["number"]) for row in rows] == [("both.txt#1", 1), ("both.txt#2", 2)]
    assert len({row["id"] for row in rows}) == 2


def test_times_are_utc_and_odd_ones_are_unknown(tmp_path: Path) -> None:
    for started_at, expected in {
        "2026-11-22T01:30:00+02:00": datetime(2026, 11, 21, 23, 30),
        "2026-11-22T01:30:00": datetime(2026, 11, 22, 1, 30),
        "0001-01-01T00:00:00+14:00": None,
        "yesterday": None,
    }.items():
        capture = replace(
            BUILT_IN[COMPLETE_CHAT], header=replace(BUILT_IN[COMPLETE_CHAT].header, started_at=started_at)
        )
        save(capture, tmp_path / "x.jsonl")
        [item] = items_of(tmp_path / "x.jsonl")
        [row], _ = as_dicts(rows_of(item, ItemReader()))
        assert row["started_at"] == expected
        assert row["day"] == (None if expected is None else expected.date().isoformat())


def test_what_cannot_be_read_is_a_row_with_its_error(tmp_path: Path) -> None:
    for name, content, words in (
        ("empty.json", b"", "the file is empty"),
        (
            "cut.jsonl",
            b'{"harmony_capture": 1, "endpoint": "chat"}\n{"t": 0, "da\n{}\n',
            "line 2: damaged JSON",
        ),
        ("image.json", b"\x89PNG\r\n", "this is a PNG image"),
        ("keys.json", b'{"a": 1}', "unrecognized JSON object"),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        [item] = items_of(path)
        [row], findings = as_dicts(rows_of(item, ItemReader()))
        assert row["verdict"] == "unread"
        assert words in row["error"]
        assert str(tmp_path) not in row["error"]
        assert not row["error"].startswith(name)
        assert row["digest"] == digest_of(content)
        assert findings == []
    missing = ScanItem(str(tmp_path / "gone.json"), None, 1, "1")
    [row], _ = as_dicts(rows_of(missing, ItemReader()))
    assert row["error"] == "no such file; check the name"
    assert row["digest"] is None


def test_names_and_texts_that_utf8_cannot_hold_become_text(tmp_path: Path) -> None:
    raw = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.json")
    Path(raw).write_text(json.dumps(IDS))
    [item] = items_of(tmp_path)
    [row], _ = as_dicts(rows_of(item, ItemReader()))
    assert row["path"] == f"file://{tmp_path}/%FF%FE.json" == as_text(raw)
    assert row["verdict"] == "clean"
    assert open_row(row).header == load(raw).header
    assert items_of(row["path"]) == [item]
    (tmp_path / "\\xff\\xfe.json").write_text("[200002]")  # looks the same where bytes are escaped
    assert len({item.key for item in items_of(tmp_path)}) == 2
    capture = replace(
        BUILT_IN[COMPLETE_CHAT], header=replace(BUILT_IN[COMPLETE_CHAT].header, model="m\ud800" * 200)
    )
    save(capture, tmp_path / "x.jsonl")
    [item] = items_of(tmp_path / "x.jsonl")
    [row], _ = as_dicts(rows_of(item, ItemReader()))
    assert row["model"].encode()
    assert len(row["model"]) == 200


def test_columns_are_named_once_and_documented() -> None:
    names = [column.name for column in (*CAPTURES, *FINDINGS)]
    assert len(set(names)) == len(names)
    assert all(column.meaning for column in (*CAPTURES, *FINDINGS))


def test_versions_sort_by_their_numbers() -> None:
    versions = ["0.9", "0.9.1", "0.10.0rc1", "0.10.2", "v0.11", "1", "1.0.0.5", "dev", "master"]
    assert sorted(set(versions), key=version_order) == versions
    assert version_order("0.10") == version_order("0.10.0")


def test_keys_of_other_files_differ() -> None:
    keys = {
        capture_key(*place) for place in (("a", None, 1), ("a", "b", 1), ("a\0b", None, 1), ("a", None, 11))
    }
    assert len(keys) == 4
