"""Archives that lie: bombs, millions of members, damage; each costs little and says what is wrong."""

import struct
import zipfile
from io import BytesIO
from pathlib import Path

import fsspec
import pytest

from inspector.capture.errors import CaptureError
from inspector.data.scan import scan, zips
from inspector.data.scan.items import ItemReader
from inspector.data.scan.rows import rows_of
from tests.support.archives import IDS, as_dicts, items_of

CONTENT = str(IDS).encode()


def packed(method: int = zipfile.ZIP_DEFLATED, **members: bytes) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.json", content)
    return buffer.getvalue()


def errors(path: Path) -> list[str | None]:
    reader = ItemReader()
    items = items_of(path)
    error_texts = [row["error"] for item in items for row in as_dicts(rows_of(item, reader))[0]]
    reader.close()
    return error_texts


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_every_method_of_compression_is_read(method: int, tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(packed(method, a=CONTENT, b=CONTENT))
    assert errors(tmp_path / "x.zip") == [None, None]


@pytest.mark.slow
@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_a_member_that_expands_without_bound_is_not_expanded(method: int, tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(packed(method, bomb=b"7 " * (17 * 2**20), fine=CONTENT))
    [bomb, fine] = errors(tmp_path / "x.zip")
    assert bomb is not None
    assert "more than the limit of 33,554,432" in bomb
    assert fine is None


def test_a_member_that_lies_about_its_size_is_read_no_further(tmp_path: Path) -> None:
    content = bytearray(packed(zipfile.ZIP_BZIP2, bomb=b"7 " * 2**20))
    at = content.rindex(b"PK\x01\x02")
    struct.pack_into("<L", content, at + 24, 1000)
    (tmp_path / "x.zip").write_bytes(content)
    [error] = errors(tmp_path / "x.zip")
    assert error is not None
    assert "cannot be read from the archive" in error


def test_members_that_overlap_are_refused(tmp_path: Path) -> None:
    content = packed(zipfile.ZIP_STORED, a=bytes(5000), b=CONTENT)
    archive = zipfile.ZipFile(BytesIO(content))
    start = content.index(b"PK\x01\x02")
    entry = content[start : start + 46 + len("a.json")]
    directory = entry * 50
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 50, 50, len(directory), start, 0)
    (tmp_path / "x.zip").write_bytes(content[:start] + directory + end)
    assert len(archive.infolist()) == 2
    [error] = errors(tmp_path / "x.zip")
    assert error is not None
    assert "overlap" in error


def test_a_directory_of_millions_of_members_is_not_parsed(tmp_path: Path) -> None:
    directory = b"PK\x01\x02" + bytes(17 * 2**20)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 9, 9, len(directory), 4, 0)
    (tmp_path / "x.zip").write_bytes(b"PK\x03\x04" + directory + end)
    assert errors(tmp_path / "x.zip") == ["its directory has more than 16 MiB; split the archive"]


def test_more_members_than_the_bound_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zips, "MEMBERS", 1)
    (tmp_path / "x.zip").write_bytes(packed(a=CONTENT, b=CONTENT))
    assert errors(tmp_path / "x.zip") == ["has more than 1 members; split the archive"]


def test_damage_and_passwords_are_sentences(tmp_path: Path) -> None:
    intact = packed(a=CONTENT * 50)
    flagged = bytearray(intact)
    struct.pack_into("<H", flagged, flagged.rindex(b"PK\x01\x02") + 8, 1)
    for content, words in {
        b"": "the zip archive is damaged",
        b"PK\x03\x04 nothing": "the zip archive is damaged",
        intact[:-30]: "the zip archive is damaged",
        bytes(flagged): "is encrypted",
        intact.replace(CONTENT[:10], b"x" * 10)[:40]
        + bytes(20)
        + intact[60:]: "cannot be read from the archive",
    }.items():
        (tmp_path / "x.zip").write_bytes(content)
        [error] = errors(tmp_path / "x.zip")
        assert error is not None
        assert words in error, error


def test_a_member_that_is_gone_since_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(packed(a=CONTENT))
    archive = zips.opened_zip(str(tmp_path / "x.zip"))
    with pytest.raises(CaptureError, match="no longer in the archive"):
        archive.read("b.json")
    archive.close()


def test_an_archive_in_an_archive_is_a_row_with_an_error(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("inner.zip", packed(a=CONTENT))
    [error] = errors(tmp_path / "x.zip")
    assert error is not None
    assert "ZIP archive" in error


def test_a_size_beyond_what_a_table_holds_is_a_row_with_an_error(tmp_path: Path) -> None:
    content = packed(a=CONTENT)
    at, end = content.index(b"PK\x01\x02"), content.index(b"PK\x05\x06")
    head, name = bytearray(content[at : at + 46]), content[at + 46 : end]
    extra = struct.pack("<HHQ", 1, 8, 2**63 + 5)  # the size of a file of ZIP64
    head[24:28], head[30:32] = b"\xff" * 4, struct.pack("<H", len(extra))
    directory = bytes(head) + name + extra
    last = bytearray(content[end:])
    last[12:16] = struct.pack("<L", len(directory))
    (tmp_path / "x.zip").write_bytes(content[:at] + directory + last)
    progress = scan([str(tmp_path / "x.zip")], tmp_path / "out", jobs=1)
    assert (progress.files, progress.unread) == (1, 1)


def test_the_tables_of_an_earlier_scan_are_no_captures(tmp_path: Path) -> None:
    """A folder that was scanned, packed with its tables; another `scan.json` may be a capture."""
    files = {
        "out/scan.json": '{"harmony_scan": 1}',
        "out/scan.lock": "",
        "out/one.txt": "[1]",
        "scan.json": "[1]",
    }
    memory = fsspec.filesystem("memory")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
            memory.pipe(f"/{tmp_path.name}/{name}", text.encode())
    members = [item.member for item in items_of(tmp_path / "a.zip")]
    paths = [item.path for item in items_of(f"memory://{tmp_path.name}")]
    assert members == ["out/one.txt", "scan.json"]
    assert [path.partition(f"{tmp_path.name}/")[2] for path in paths] == members
