"""What a scan finds: folders, globs, links, archives and remote places."""

import os
import subprocess
import sys
import warnings
import zipfile
from collections import Counter
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from inspector.capture.errors import InspectorError
from inspector.data.scan import zips
from inspector.data.scan.items import ItemReader
from inspector.data.scan.remote import remote_files
from inspector.fleet.probe.shelf import ProbeShelf
from tests.support.archives import id_lists, items_of, rows_in, scanned
from tests.support.command import ROOT, inspector


def names(*places: str | Path, but: Path | None = None) -> list[str]:
    return [item.name for item in items_of(*places, but=but)]


def test_a_folder_is_read_with_its_folders_and_without_what_is_no_capture(tmp_path: Path) -> None:
    listed = ["a.jsonl", "b.json.gz", "deep/c.txt", "deep/d.har", "stream.zst"]
    hidden = [".hidden.jsonl", ".git/e.json"]
    for name in (*listed, *hidden, "README.md", "deep/table.csv.gz", "run.jsonl.part", "plain"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    ignored = Counter[str]()
    items = items_of(tmp_path, ignored=ignored)
    assert [item.name for item in items] == ["a.jsonl", "b.json.gz", "c.txt", "d.har", "stream.zst"]
    assert dict(ignored) == {".md": 1, ".gz": 1, ".part": 1, "no ending": 1}


def test_the_plan_and_the_rows_of_a_probe_are_no_captures(tmp_path: Path) -> None:
    ProbeShelf(tmp_path, {}).close()
    (tmp_path / "captures" / "clean-chat-00001.jsonl").write_text("[1]")
    assert names(tmp_path) == ["clean-chat-00001.jsonl"]
    assert names(tmp_path / "*") == []
    (tmp_path / "probe.json").unlink()
    assert names(tmp_path) == ["clean-chat-00001.jsonl", "rows.jsonl"], "perhaps of another program"


def test_a_file_that_is_named_is_always_read_and_only_once(tmp_path: Path) -> None:
    [path, _] = id_lists(tmp_path, 2)
    odd = path.rename(tmp_path / "stream")
    assert names(odd) == ["stream"]
    assert names(tmp_path / "s*", odd, tmp_path) == ["ids-0001.json", "stream"]


def test_links_that_go_in_circles_end(tmp_path: Path) -> None:
    [path] = id_lists(tmp_path / "in", 1)
    (tmp_path / "in" / "again").symlink_to(tmp_path / "in", target_is_directory=True)
    (tmp_path / "in" / "self.json").symlink_to(tmp_path / "in" / "self.json")
    (tmp_path / "in" / "gone.json").symlink_to(tmp_path / "nothing")
    (tmp_path / "in" / "other.json").symlink_to(path)
    trouble_of = {item.name: item.trouble for item in items_of(tmp_path / "in")}
    assert sorted(trouble_of) == ["gone.json", "ids-0000.json", "other.json", "self.json"]
    assert "No such file" in trouble_of["gone.json"]
    assert "Too many levels" in trouble_of["self.json"]
    assert not trouble_of["other.json"]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    [item] = items_of(tmp_path)
    assert "not a regular file" in item.trouble


def test_a_file_that_became_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    code = (
        "import sys\n"
        "from inspector.data.scan.items import ItemReader, ScanItem\n"
        "ItemReader().content(ScanItem(sys.argv[1], None, 9, 'before'))"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code, pipe],
        cwd=ROOT, capture_output=True, timeout=30, check=False,
    )  # fmt: skip
    assert b"StoreError: pipe.jsonl: cannot be read (it is not a regular file)" in completed.stderr


KERNEL_LOG = "/proc/kmsg"


@pytest.mark.skipif(not os.access(KERNEL_LOG, os.R_OK), reason="root alone may read it")
def test_a_regular_file_whose_read_waits_is_not_waited_for(tmp_path: Path) -> None:
    for name in ("named.json", "unnamed.log", "archive.zip"):
        (tmp_path / name).symlink_to(KERNEL_LOG)
    completed = inspector("scan", tmp_path, "--out", tmp_path / "out", "--jobs", "1")
    assert completed.returncode == 2, completed.stderr.decode()
    assert {row["name"]: row["verdict"] for row in rows_in(tmp_path / "out")} == {
        "named.json": "unread",
        "unnamed.log": "unread",
        "archive.zip": "unread",
    }


def test_places_that_do_not_exist_are_errors_of_the_caller(tmp_path: Path) -> None:
    for place, words in {
        tmp_path / "none": "no such file or folder",
        tmp_path / "*.jsonl": "no file matches",
        tmp_path.parent / f"{tmp_path.name[:-1]}*": "only folders match",
        "memory://none/none.json": "no such object",
        "file://[folder/x.json": "invalid URL",
        "nosuchprotocol://x/y": "cannot be opened",
        "https://me:secret@host/x.json": "contains a key or password",
        "https://host/x.json?X-Amz-Signature=abc": "contains a key or password",
        "zip://a.json::memory://x.zip": "chained URLs are not supported",
    }.items():
        with pytest.raises(InspectorError, match=words):
            items_of(str(place))


def test_the_folder_of_the_tables_is_left_out(tmp_path: Path) -> None:
    id_lists(tmp_path, 1)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "scan.json").write_text("{}")
    assert names(tmp_path, but=tmp_path / "out") == ["ids-0000.json"]


def test_tables_of_other_scans_are_no_captures(tmp_path: Path) -> None:
    id_lists(tmp_path / "in", 1)
    scanned(tmp_path / "in" / "scan", tmp_path / "in")
    assert names(tmp_path / "in") == ["ids-0000.json"]
    assert names(f"{tmp_path}/in/**/*.json") == ["ids-0000.json"]
    (tmp_path / "in" / "scan.json").write_text("[200002]")
    assert names(tmp_path / "in") == ["ids-0000.json", "scan.json"]


def test_the_last_of_two_members_with_one_name_counts(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    for content, tokens in ((b"[200002]", 1), (b"[200008, 200002]", 2)):
        with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of zipfile, about the name
            archive.writestr("a.json", content)
        [row] = scanned(tmp_path / "out", path)
        assert (row["tokens"], row["size"]) == (tokens, len(content))


def test_an_archive_that_was_replaced_is_opened_anew(tmp_path: Path) -> None:
    reader, contents = ItemReader(), list[bytes]()
    for content in (b"[200002]", b"[1, 200002]"):
        with zipfile.ZipFile(tmp_path / "new", "w") as archive:
            archive.writestr("a.json", content)
        (tmp_path / "new").rename(tmp_path / "x.zip")
        contents += map(reader.content, items_of(tmp_path / "x.zip"))
    assert contents == [b"[200002]", b"[1, 200002]"]
    reader.close()


def test_members_of_an_archive_are_items_and_nothing_is_extracted(tmp_path: Path) -> None:
    [path] = id_lists(tmp_path / "in", 1)
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name in ("a/ids.json", "../../escape.json", "etc/ids.json", "README.md"):
            archive.write(path, name)
    items = items_of(tmp_path / "all.zip")
    assert [item.member for item in items] == ["../../escape.json", "a/ids.json", "etc/ids.json"]
    assert {ItemReader().content(item) for item in items} == {path.read_bytes()}
    assert {item.stamp[:6] for item in items} == {"crc32 "}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.zip", "in"]


class Web(MemoryFileSystem):  # type: ignore[misc]
    """What fsspec makes of a web server: a folder is a page, and so a file."""

    protocol = "webtest"

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return {"name": path, "size": 9, "type": "file", "Last-Modified": "today"}

    def find(self, path: str, **_: Any) -> dict[str, dict[str, Any]]:
        return {name: self.info(name) for name in (f"{path}/a.json", f"{path}/b.json")}


def test_a_folder_of_a_web_server_is_no_file() -> None:
    fsspec.register_implementation("webtest", Web, clobber=True)
    files, single = remote_files("webtest://web-test/")
    assert ([name for name, _, _ in files], single) == (
        ["webtest://web-test/a.json", "webtest://web-test/b.json"],
        False,
    )
    [file], single = remote_files("webtest://web-test/a.json")
    assert (file[1:], single) == ((9, "today"), True)


class FromStart(MemoryFileSystem):  # type: ignore[misc]
    """What fsspec makes of a web server that sends no parts of a file."""

    protocol = "starttest"

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.removeprefix("starttest://").lstrip("/")

    def _open(self, path: str, *arguments: Any, **options: Any) -> Any:
        content = BytesIO(super()._open(path, *arguments, **options).read())

        class UnseekableStream(BufferedReader):
            def seek(self, *_: int) -> int:
                raise ValueError("Cannot seek streaming HTTP file")

        return UnseekableStream(content)


def test_an_archive_of_a_server_that_sends_no_parts_is_fetched_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsspec.register_implementation("starttest", FromStart, clobber=True)
    [path] = id_lists(tmp_path, 1)
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(path, "inside.json")
    store = fsspec.filesystem("memory")
    store.pipe_file("/start-test/all.zip", (tmp_path / "all.zip").read_bytes())
    try:
        [item] = items_of("starttest://start-test/all.zip")
        reader = ItemReader()
        assert reader.content(item) == path.read_bytes()
        reader.close()
        monkeypatch.setattr(zips, "LIMIT_BYTES", 10)
        [item] = items_of("starttest://start-test/all.zip")
        assert "the server sends no parts of a file" in item.trouble
        store.pipe_file("/start-test/all.zip", b"PK")
        [item] = items_of("starttest://start-test/all.zip")
        assert item.trouble == "the zip archive is damaged (File is not a zip file); save it again"
    finally:
        store.rm("/start-test", recursive=True)


def test_remote_places_are_listed_and_read_and_archives_in_them(tmp_path: Path) -> None:
    store = fsspec.filesystem("memory")
    [path] = id_lists(tmp_path, 1)
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(path, "inside.json")
    for name, content in {
        "runs/a.json": path.read_bytes(),
        "runs/deep/b.json": path.read_bytes(),
        "runs/notes.md": b"x",
        "runs/all.zip": (tmp_path / "all.zip").read_bytes(),
    }.items():
        store.pipe_file(f"/archive-test/{name}", content)
    try:
        ignored = Counter[str]()
        items = items_of("memory://archive-test/runs", ignored=ignored)
        assert [item.name for item in items] == ["a.json", "inside.json", "b.json"]
        assert dict(ignored) == {".md": 1}
        reader = ItemReader()
        assert {reader.content(item) for item in items} == {path.read_bytes()}
        reader.close()
        assert names("memory://archive-test/runs/*.json") == ["a.json"]
        [[_, size, stamp]], single = remote_files("memory://archive-test/runs/a.json")
        assert (size, single) == (len(path.read_bytes()), True)
        assert stamp
    finally:
        store.rm("/archive-test", recursive=True)
