"""Groups, counts and orders agree with the rows, and the connection reads nothing else."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inspector.capture.errors import InspectorError, StoreError
from inspector.data.scan import (
    GROUPS,
    SORTS,
    Counts,
    Group,
    Library,
    cause_fix,
    cause_title,
    reporting,
    summarise,
)
from inspector.data.scan import library as library_module
from inspector.data.scan.columns import Table
from inspector.data.scan.folder import read_manifest
from inspector.files.store import FIXTURES, load, save
from tests.support.archives import rows_in, scanned
from tests.support.command import inspector


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("it's a scan")
    scanned(folder, FIXTURES / "*.jsonl", FIXTURES / "logs", FIXTURES / "formats")
    return folder


@pytest.fixture(scope="module")
def library(out: Path) -> Iterator[Library]:
    with Library(out) as library:
        yield library


@pytest.mark.parametrize("by", list(GROUPS))
def test_groups_are_those_of_the_rows(by: str, out: Path, library: Library) -> None:
    captures = rows_in(out)
    if GROUPS[by].table is Table.CAPTURES:
        expected = Counter(row[by] for row in captures if row["verdict"] != "unread")
    else:
        pairs = {(row["capture"], row[by]) for row in rows_in(out, Table.FINDINGS)}
        expected = Counter(value for _, value in pairs)
    groups = library.groups(by)
    assert Counter({group.value: group.counts.captures for group in groups}) == expected
    if by in {"version", "day"}:
        known = [group.value for group in groups if group.value is not None]
        assert known == sorted(
            known, key=lambda version: [int(part) for part in str(version).replace("-", ".").split(".")]
        )


@pytest.mark.parametrize("sort", SORTS)
def test_rows_are_in_the_order_that_was_asked_for(sort: str, library: Library) -> None:
    up = [row[sort] for row in library.rows(sort=sort)]
    down = [row[sort] for row in library.rows(sort=sort, descending=True)]
    known = [value for value in up if value is not None]
    assert Counter(map(str, up)) == Counter(map(str, down))
    assert up == [*known, *[None] * (len(up) - len(known))]
    assert [value for value in down if value is not None] == known[::-1]


def test_the_worst_come_first(library: Library) -> None:
    levels = [row["verdict"] for row in library.rows()]
    assert list(dict.fromkeys(levels)) == ["error", "warning", "unread", "unknown", "clean"]


def test_the_summary_counts_captures_findings_and_versions(out: Path, library: Library) -> None:
    summary = summarise(library)
    findings = rows_in(out, Table.FINDINGS)
    assert {kind.value: kind.findings for kind in summary.kinds} == Counter(row["kind"] for row in findings)
    assert sum(summary.severities.values()) == len(findings)
    for kind in summary.kinds:
        assert sum(captures for _, captures in kind.versions) == kind.captures
    assert all(cause_title(cause.value) for cause in summary.causes)
    assert cause_title("no such issue") == ""
    assert all(cause_fix(cause.value, cause.releases) for cause in summary.causes)
    assert cause_fix("no such issue", ["0.14.1"]) == ""
    assert len(summary.unread) == 2
    assert summarise(library, "model = 'nobody'").sentence == "No capture matches the filter."
    clean = summary.counts.clean
    assert summarise(library, "verdict = 'clean'").sentence == f"None of {clean} captures has errors."
    assert summarise(library, "verdict = 'unread' OR tokens > 1e9").sentence == "2 files could not be read."
    deep = "not " * 38 + "verdict = 'unread'"
    assert summarise(library, deep).sentence == "2 files could not be read."
    assert (
        summarise(library, "verdict = 'warning'").sentence
        == "None of 2 captures has errors; 2 have warnings."
    )


def test_rows_of_a_scan_before_the_column_was_added_are_read(out: Path, tmp_path: Path) -> None:
    [part] = read_manifest(out).parts
    (tmp_path / "scan.json").write_bytes((out / "scan.json").read_bytes())
    for table in Table:
        name = f"{table.value}-{part}.parquet"
        rows = pq.read_table(out / name)
        pq.write_table(rows.drop_columns(["delivery"]) if table is Table.CAPTURES else rows, tmp_path / name)
    with Library(tmp_path) as before, Library(out) as now:
        assert before.counts().captures == now.counts().captures
        assert before.counts().deliveries == {}
        assert summarise(before).headline == ""
        assert {row["delivery"] for row in before.rows(limit=None)} == {None}


def counted(captures: int, **levels: int) -> Counts:
    none = dict.fromkeys(("clean", "warning", "error", "unknown", "unread"), 0)
    return Counts(captures=captures, **(none | levels), deliveries={})


@pytest.mark.parametrize(
    ("total", "versions", "first", "sentence"),
    [
        (
            counted(9, error=4, clean=5),
            {"1": counted(3, error=2), "2": counted(3, error=1), "3": counted(3, error=1)},
            ("2026-11-02", 0),
            "4 of 9 captures have errors (44%), the first on 2026-11-02; "
            "the rate is highest with version 1 (2 of 3).",
        ),
        (
            counted(13, error=5),
            {"1": counted(1, error=1), "2": counted(2, error=2), "3": counted(10, error=2)},
            (None, 5),
            "5 of 13 captures have errors (38%); "
            "the rate is highest with versions 1 (1 of 1) and 2 (2 of 2).",
        ),
        (
            counted(6, error=2),
            {"1": counted(3, error=1), "2": counted(3, error=1)},
            ("2026-11-02", 1),
            "2 of 6 captures have errors (33%), the first with a known date on 2026-11-02.",
        ),
        (
            counted(6, error=2, unknown=1),
            {"1": counted(2), "2": counted(2, unknown=1), None: counted(2, error=2)},
            (None, 2),
            "2 of 6 captures have errors (33%); the verdict of 1 is unknown.",
        ),
        (
            counted(6, warning=1, unknown=2),
            {},
            (None, 0),
            "None of 6 captures has errors; 1 has warnings; the verdict of 2 is unknown.",
        ),
        (
            counted(3, unknown=3, unread=1),
            {},
            (None, 0),
            "The verdict of 3 captures is unknown. 1 file could not be read.",
        ),
    ],
)
def test_the_sentence_says_no_more_than_is_known(
    total: Counts, versions: dict[str | None, Counts], first: tuple[str | None, int], sentence: str
) -> None:
    groups = [Group(value=value, counts=counts) for value, counts in versions.items()]
    assert reporting._sentence(total, groups, first, filtered=False) == sentence


def test_the_first_error_is_that_of_captures_with_a_day(tmp_path: Path) -> None:
    leak = load(FIXTURES / "chat-tool-call-leak-vllm-0.14.1.jsonl")
    for name, moment in {"a": "2026-11-03T10:00:00Z", "b": "2026-11-02T10:00:00Z", "c": None}.items():
        save(replace(leak, header=replace(leak.header, started_at=moment)), tmp_path / f"{name}.jsonl")
    scanned(tmp_path / "out", tmp_path)
    with Library(tmp_path / "out") as library:
        assert library.first_error() == ("2026-11-02", 1)
        assert library.first_error("started_at IS NOT NULL") == ("2026-11-02", 0)


def test_parts_that_a_scan_replaces_at_the_same_time_are_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = FIXTURES / "chat-whole-vllm-0.14.1.jsonl"
    scanned(tmp_path, path)
    lists = [read_manifest(tmp_path)]
    scanned(tmp_path, path, again=True)
    lists += [read_manifest(tmp_path)] * 2
    assert lists[0].parts != lists[1].parts
    monkeypatch.setattr(library_module, "read_manifest", lambda _: lists.pop(0))
    with Library(tmp_path) as library:
        assert library.counts().captures == 1


def test_findings_and_single_rows_are_found_by_key(out: Path, library: Library) -> None:
    leak = next(row for row in library.rows() if "leak" in row["name"])
    assert library.capture(leak["id"]) == leak
    assert library.capture("nobody") is None
    assert len(library.findings([leak["id"]])) == leak["findings"]
    assert library.findings([]) == []


def test_an_empty_scan_has_an_answer_to_everything(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    assert scanned(tmp_path / "out", tmp_path / "in") == []
    with Library(tmp_path / "out") as library:
        assert summarise(library).sentence == "The scan found no captures."
        assert library.rows() == []
        assert library.groups("kind") + library.groups("version") == []


@pytest.mark.parametrize("value", [5, ["/in"], {"name": "/in"}])
def test_columns_of_another_type_are_said(value: object, tmp_path: Path) -> None:
    scanned(tmp_path, FIXTURES / "chat-whole-vllm-0.14.1.jsonl")
    [part] = tmp_path.glob("captures-*.parquet")
    table = pq.read_table(part)
    at = table.column_names.index("path")
    pq.write_table(table.set_column(at, "path", pa.array([value])), part)
    completed = inspector("library", tmp_path, "--rows", "3")
    assert completed.returncode == 2
    assert completed.stderr.startswith(f"inspector: {tmp_path}: the rows cannot be read (".encode())
    assert b"the column path of captures is " in completed.stderr


def test_only_columns_of_the_tables_become_sql(library: Library) -> None:
    for ask in (
        lambda: library.groups("version; DROP TABLE captures"),
        lambda: library.rows(sort="tokens, (SELECT 1)"),
        lambda: library.tallies("message"),
    ):
        with pytest.raises(InspectorError, match="cannot"):
            ask()


def test_the_connection_reads_the_folder_and_nothing_else(library: Library, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    for sql in (
        f"FROM '{tmp_path}/other.csv'",
        f"COPY captures TO '{tmp_path}/stolen.csv'",
        f"ATTACH '{tmp_path}/new.db'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
    ):
        with pytest.raises(duckdb.Error):
            library._connection.execute(sql)
    assert [path.name for path in tmp_path.iterdir()] == ["other.csv"]


def test_tables_that_are_not_held_stay_on_disk_and_rows_that_are_gone_are_said(tmp_path: Path) -> None:
    scanned(tmp_path, FIXTURES / "chat-whole-vllm-0.14.1.jsonl")
    with Library(tmp_path, hold=False) as library:
        assert library.counts().captures == 1
        for path in tmp_path.glob("*.parquet"):
            path.unlink()
        with pytest.raises(InspectorError, match="the rows cannot be read"):
            library.counts()
    with pytest.raises(InspectorError, match="the rows cannot be read"):
        Library(tmp_path)


def test_rows_that_are_damaged_are_no_fault_of_the_filter(tmp_path: Path) -> None:
    scanned(tmp_path, FIXTURES / "chat-whole-vllm-0.14.1.jsonl")
    with Library(tmp_path, hold=False) as library:
        [path] = tmp_path.glob("captures-*.parquet")
        content = path.read_bytes()
        path.write_bytes(content[:4] + b"\xff" * (len(content) // 2) + content[4 + len(content) // 2 :])
        with pytest.raises(StoreError, match="the rows cannot be read"):
            library.counts("tokens > 1")


def test_the_fix_of_a_known_issue_is_one_that_the_newest_release_with_it_needs() -> None:
    lossy = "responses-stream-cross-channel"
    assert "Upgrade to vLLM 0.25.1" in cause_fix(lossy, ["0.9.0", "0.23.0", None])
    assert cause_fix(lossy, ["0.23.0", "0.14.1"]) == cause_fix(lossy, ["0.14.1", "0.23.0", "built here"])
    assert cause_fix(lossy, [None]) != ""
