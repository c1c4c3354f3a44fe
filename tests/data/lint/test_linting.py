"""Files, columns and limits."""

import gzip
import io
import json
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from pyarrow import parquet

from inspector.capture.errors import InspectorError
from inspector.data.lint import Column, Form, LintRow, LintTable, Rule, lint, lint_table
from inspector.data.lint.rows import ROW_BYTES, table_of
from inspector.protocol.harmony.vocab import encode

FIXTURES = Path(__file__).parents[3] / "fixtures" / "lint"
MALFORMED = "<|start|>user<|message|>Hi<|end|><|start|>assistant<|channel|>final<|message|>x<|end|><|return|>"
ROWS = [
    {"text": MALFORMED},
    {"text": MALFORMED.replace("<|end|><|return|>", "<|return|>")},
    {"text": MALFORMED},
]
LINES = "".join(f"{json.dumps(row)}\n" for row in ROWS).encode()


def newer_zip() -> bytes:
    """An archive that needs version 9.9 of the format."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("samples/1.json", b"{}")
    content = bytearray(buffer.getvalue())
    content[content.index(b"PK\x01\x02") + 6] = 99
    return bytes(content)


NEWER = newer_zip()


def as_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def as_zstd_zip(path: Path, members: dict[str, bytes]) -> Path:
    """An archive as Inspect writes it; Python's `zipfile` writes zstd from 3.14 on."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, zstandard.compress(content))
    archive_bytes = bytearray(path.read_bytes())
    for name, plain in members.items():
        for method in (archive_bytes.index(name.encode()) - 22, archive_bytes.rindex(name.encode()) - 36):
            struct.pack_into("<H", archive_bytes, method, 93)
            struct.pack_into("<L", archive_bytes, method + 6, zlib.crc32(plain))
            struct.pack_into("<L", archive_bytes, method + 14, len(plain))
    path.write_bytes(archive_bytes)
    return path


def test_the_default_log_of_inspect_is_read(tmp_path: Path) -> None:
    samples = {f"samples/{at}_epoch_1.json": json.dumps(row).encode() for at, row in enumerate(ROWS)}
    text = [Column("text", Form.TEXT)]
    expected = lint(as_zip(tmp_path / "plain.eval", samples), columns=text)
    packed = as_zstd_zip(tmp_path / "packed.eval", samples)
    assert lint(packed, columns=text).counts == expected.counts
    content = bytearray(packed.read_bytes())
    at = content.index(b"samples/1") + 40
    content[at : at + 8] = b"\xff" * 8
    packed.write_bytes(content)
    damaged = lint(packed, columns=text)
    assert (damaged.rows, damaged.counts[Rule.UNREADABLE_ROW]) == (3, 1)
    huge = as_zstd_zip(packed, {"samples/1.json": bytes(ROW_BYTES + 1), **samples})
    assert [
        finding.note for finding in lint(huge, columns=text).findings if finding.rule is Rule.UNREADABLE_ROW
    ] == ["Row 1: it is larger than 64 MiB."]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.jsonl", LINES),
        ("rows.jsonl.gz", gzip.compress(LINES, mtime=0)),
        ("rows.jsonl.zst", zstandard.compress(LINES)),
        ("rows.json", json.dumps(ROWS, indent=2).encode()),
        ("bom.jsonl", b"\xef\xbb\xbf" + LINES),
        ("samples.json", json.dumps({"version": 2, "samples": ROWS}, indent=1).encode()),
    ],
)
def test_every_format_gives_the_same_findings(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    report = lint(tmp_path / name)
    assert [(finding.rule, finding.row) for finding in report.findings] == [
        (Rule.DOUBLE_TERMINATOR, 1),
        (Rule.DOUBLE_TERMINATOR, 3),
    ]
    assert (report.rows, report.flawed_rows, report.found) == (3, 2, 2)


def test_an_archive_of_inspect_is_read_sample_by_sample(tmp_path: Path) -> None:
    sample = {"id": 1, "output": {"choices": [{"message": {"content": MALFORMED}}]}, "scores": {}}
    members = {"header.json": b"{}", "samples/1_epoch_1.json": json.dumps(sample).encode()}
    report = lint(as_zip(tmp_path / "log.eval", members))
    assert (report.format, dict(report.counts)) == ("an Inspect log", {Rule.RAW_HARMONY_ANSWER: 1})
    with pytest.raises(InspectorError, match="zip archive without samples"):
        lint(as_zip(tmp_path / "other.zip", {"a.txt": b""}))


def test_parquet_with_nested_columns(tmp_path: Path) -> None:
    rows = [{"data": {"ids": encode(row["text"])}, "n": 1} for row in ROWS]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    report = lint(tmp_path / "rows.parquet", columns=[Column("data.ids", Form.IDS)])
    assert [finding.row for finding in report.findings] == [1, 3]


def test_parquet_with_values_that_python_does_not_hold(tmp_path: Path) -> None:
    texts = [row["text"] for row in ROWS]
    broken = pa.array([b"\xff", *(text.encode() for text in texts[1:])]).view(pa.string())
    times = pa.array([2**62] * len(texts), pa.timestamp("us"))
    parquet.write_table(pa.table({"text": broken, "made": times}), tmp_path / "rows.parquet")
    report = lint(tmp_path / "rows.parquet")
    assert [(finding.row, finding.rule) for finding in report.findings] == [
        (1, Rule.UNREADABLE_ROW),
        (3, Rule.DOUBLE_TERMINATOR),
    ]
    assert "invalid start byte" in report.findings[0].note


def test_a_row_with_findings_of_its_own_and_of_its_column_is_one_row(tmp_path: Path) -> None:
    user, final = (
        f"<|start|>{message}" for message in ("user<|message|>Hi", "assistant<|channel|>final<|message|>x")
    )
    texts = [f"{user}<|end|>{final}<|call|>{user}<|end|>{final}<|end|>", f"{user}<|end|>{final}<|return|>"]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"text": text, "completion": text}) + "\n" for text in texts))
    for limit in (0, 9):
        report = lint(path, max_findings=limit)
        assert (report.rows, report.flawed_rows, report.counts[Rule.MIXED_ENDINGS]) == (2, 1, 2)


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    with pytest.raises(InspectorError, match="the Parquet file is damaged"):
        lint(tmp_path / "rows.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InspectorError, match=r"pip install .harmony-inspector\[scan\]"):
        lint(tmp_path / "rows.parquet")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "has no rows"),
        (b"{}\n", r"has no row that can be read \(it is empty\)"),
        (b"1\n2\n", r"has no row that can be read \(it is not a JSON object but a number"),
        (b"\x89PNG\r\n\x1a\n", "picture|image"),
        (b'[{"text": ', "not valid JSON"),
        (b'{"a": 1}\n', "no column was recognized; its columns are a"),
        (
            (FIXTURES.parent / "chat-whole-vllm-0.14.1.jsonl").read_bytes(),
            "is a capture; check it with the command audit",
        ),
        (b"PK\x03\x04nothing", "zip archive is damaged"),
        (NEWER, "zip archive is damaged"),
        (gzip.compress(LINES, mtime=0)[:-20], "gzip file is damaged"),
    ],
)
def test_a_file_that_is_no_table_is_refused_in_one_sentence(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(InspectorError, match=why):
        lint(tmp_path / "file")
    with pytest.raises(InspectorError, match="no such file"):
        lint(tmp_path / "missing")


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_sample_is_a_row_that_cannot_be_read(tmp_path: Path, method: int) -> None:
    name, sample = (
        "samples/1.json",
        json.dumps({"output": {"choices": []}, "scores": {}, "text": MALFORMED}).encode(),
    )
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr(name, sample)
        archive.writestr("samples/2.json", sample)
    content = path.read_bytes()
    at = content.index(name.encode()) + len(name) + 12
    path.write_bytes(content[:at] + b"\xff" * 12 + content[at + 12 :])
    report = lint(path, columns=[Column("text", Form.TEXT)])
    assert (report.rows, report.counts[Rule.UNREADABLE_ROW]) == (2, 1)


@pytest.mark.slow
def test_a_sample_is_not_expanded_beyond_the_size_of_a_row(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("samples/1.json", json.dumps({"text": MALFORMED}))
        archive.writestr("samples/2.json", bytes(ROW_BYTES + 1))
    report = lint(path, columns=[Column("text", Form.TEXT)])
    assert [finding.note for finding in report.findings if finding.rule is Rule.UNREADABLE_ROW] == [
        "Row 2: it is larger than 64 MiB."
    ]


def test_what_must_be_sought_in_is_not_read_from_a_pipe() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    for magic in (b"PAR1", b"PK\x03\x04"):
        with pytest.raises(InspectorError, match="cannot be read from a pipe"):
            table_of(io.BufferedReader(Pipe(magic)), "standard input")


def test_a_row_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(LINES + b'{"text": \n\n[1]\n"x"\n' + b"[" * 100_000 + b"\n" + LINES)
    report = lint(tmp_path / "rows.jsonl")
    broken = [finding for finding in report.findings if finding.rule is Rule.UNREADABLE_ROW]
    assert [finding.row for finding in broken] == [4, 6, 7, 8]
    assert [finding.row for finding in report.findings if finding.rule is Rule.DOUBLE_TERMINATOR] == [
        1,
        3,
        9,
        11,
    ]
    assert "not a JSON object but an array" in broken[1].explanation


def test_a_line_beyond_the_bound_is_a_finding_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ROW_BYTES == 64 * 2**20
    monkeypatch.setattr("inspector.data.lint.rows.ROW_BYTES", 1000)
    (tmp_path / "rows.jsonl").write_bytes(json.dumps({"text": "a" * 5000}).encode() + b"\n" + LINES)
    report = lint(tmp_path / "rows.jsonl")
    assert [(finding.rule, finding.row) for finding in report.findings][:2] == [
        (Rule.UNREADABLE_ROW, 1),
        (Rule.DOUBLE_TERMINATOR, 2),
    ]


def test_values_of_another_form_and_too_long_ones_are_findings(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"text": MALFORMED, "ids": encode(MALFORMED), "messages": [{"role": "user", "content": "Hi"}]},
        {"text": 7, "ids": ["a"], "messages": ["x"]},
        {"text": None, "ids": [], "messages": []},
        {"ids": [200006, 1 << 40]},
        {"text": MALFORMED + "a" * 5000},
    ]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    report = lint(tmp_path / "rows.jsonl")
    wrong_form = [
        (finding.row, finding.column) for finding in report.findings if finding.rule is Rule.WRONG_FORM
    ]
    assert wrong_form == [(2, "text"), (2, "ids"), (2, "messages"), (4, "ids")]
    assert [finding.row for finding in report.findings if finding.rule is Rule.TOO_LONG] == [5]


def test_memory_does_not_grow_with_the_rows() -> None:
    alive = [0, 0]

    class Counted(dict[str, Any]):
        def __init__(self) -> None:
            super().__init__(text=MALFORMED)
            alive[0] += 1
            alive[1] = max(alive)

        def __del__(self) -> None:
            alive[0] -= 1

    def rows() -> Iterator[LintRow]:
        for number in range(1, 301):
            yield LintRow(number, Counted())

    report = lint_table(LintTable("rows", "rows", rows()), max_findings=5)
    assert (report.rows, report.found, len(report.findings)) == (300, 300, 5)
    assert alive[1] < 60


def test_the_known_cases_are_found() -> None:
    two = lint(FIXTURES / "template-teaches-two-terminators.jsonl")
    assert (dict(two.counts), two.flawed_rows) == ({Rule.DOUBLE_TERMINATOR: 3}, 3)
    transcripts = lint(FIXTURES / "evaluation-of-transcripts.jsonl")
    assert (dict(transcripts.counts), transcripts.flawed_rows) == ({Rule.STRIPPED_TRANSCRIPT: 3}, 3)
    raw = lint(FIXTURES / "evaluation-of-raw-harmony.jsonl")
    assert (dict(raw.counts), raw.flawed_rows) == ({Rule.RAW_HARMONY_ANSWER: 1}, 1)


def test_a_rendered_prompt_in_a_text_file_is_one_row(tmp_path: Path) -> None:
    path = tmp_path / "prompt.txt"
    path.write_text(f"\ufeff{MALFORMED}\n", "utf-8")
    report = lint(path)
    assert report.format == "Harmony text"
    assert report.counts == lint_table(LintTable("x", "x", iter([LintRow(1, {"text": MALFORMED})]))).counts
