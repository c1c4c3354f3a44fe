"""Uploads on disk: found again by their session, private, bounded in bytes and days."""

import os
import tracemalloc
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from threading import Lock

import pytest

from inspector.capture.capture import Capture, Endpoint, Header, render
from inspector.capture.errors import InspectorError
from inspector.files import uploads
from inspector.files.uploads import KEPT_DAYS, Shelf, Upload
from tests.support.streams import CLEAN, LEAK, chat


def upload(name: str, size: int = 0) -> Upload:
    lines = "".join(f"{line}\n" for line in render(chat(CLEAN))).encode()
    return Upload(name=name, digest=name, capture=chat(CLEAN), lines=lines + b" " * size)


def keep(shelf: Shelf, session: str, uploads: list[Upload]) -> None:
    shelf.hold(session, uploads)
    shelf.keep()


def test_what_was_kept_is_found_again_in_its_order_and_private(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "uploads")
    session = shelf.session()
    keep(shelf, session, [Upload(name="a/../\udc80.jsonl", digest="1", capture=chat(LEAK), vouched=True)])
    keep(shelf, session, [upload("b"), upload("b")])
    uploads = Shelf(tmp_path / "uploads").kept(session)
    assert [(upload.name, upload.digest, upload.vouched) for upload in uploads] == [
        ("a/../\udc80.jsonl", "1", True),
        ("b", "b", False),
    ]
    assert list(render(uploads[0].capture)) == list(render(chat(LEAK)))
    folder = tmp_path / "uploads" / session
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize(
    "name", ["", "..", "../secrets", "a" * 22 + "/..", "x" * 23, "ä" * 22, "a" * 21 + "/"]
)
def test_a_name_from_outside_never_becomes_another_path(tmp_path: Path, name: str) -> None:
    shelf = Shelf(tmp_path / "uploads")
    keep(shelf, name, [upload("a")])
    assert shelf.kept(name) == []
    assert not (tmp_path / "uploads").exists()


def test_old_sessions_go_and_then_those_used_longest_ago(tmp_path: Path) -> None:
    now_s = 1_000_000_000.0
    shelf = Shelf(tmp_path, bytes_at_most=40_000, clock=lambda: now_s)
    sessions = [shelf.session() for _ in range(4)]
    for age, session in zip((KEPT_DAYS + 1, 3, 2, 1), sessions, strict=True):
        keep(shelf, session, [upload("a", 15_000)])
        os.utime(tmp_path / session, (now_s - age * 86_400,) * 2)
    last = shelf.session()
    keep(shelf, last, [upload("a")])
    assert [bool(shelf.kept(session)) for session in (*sessions, last)] == [False, False, True, True, True]


def test_a_session_keeps_its_newest_captures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "_CAPTURES_AT_MOST", 3)
    shelf = Shelf(tmp_path, bytes_at_most=100_000)
    session = shelf.session()
    for number in range(5):
        keep(shelf, session, [upload(str(number))])
    keep(shelf, session, [upload("large", 200_000)])
    assert [upload.name for upload in shelf.kept(session)] == ["2", "3", "4"]


def test_a_disk_that_refuses_and_damaged_files_are_no_errors(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    blocked = Shelf(tmp_path / "file")
    session = blocked.session()
    keep(blocked, session, [upload("a")])
    assert blocked.kept(session) == []
    assert Shelf(None).kept(session) == []
    shelf = Shelf(tmp_path)
    keep(shelf, session, [upload("a")])
    for name, content in (("1", b""), ("2", b"{}\n"), ("3", b'{"name": 1, "digest": 2, "vouched": 0}\nx')):
        (tmp_path / session / f"{name}.jsonl").write_bytes(content)
    assert [upload.name for upload in shelf.kept(session)] == ["a"]


def test_what_is_held_is_found_before_it_is_written_and_once_after(tmp_path: Path) -> None:
    """The page's address names a session before its uploads are on disk, and a reload may come then."""
    shelf = Shelf(tmp_path / "uploads")
    session, second = shelf.session(), shelf.session()
    keep(shelf, session, [upload("a"), upload("b")])
    shelf.hold(session, [upload("c"), upload("a")])
    assert [upload.name for upload in shelf.kept(session)] == ["b", "c", "a"]
    assert shelf.kept(second) == []
    assert [upload.name for upload in Shelf(tmp_path / "uploads").kept(session)] == ["a", "b"]
    shelf.keep()
    assert sorted(upload.name for upload in Shelf(tmp_path / "uploads").kept(session)) == ["a", "b", "c"]
    assert sorted(upload.name for upload in shelf.kept(session)) == ["a", "b", "c"]


def test_what_is_written_at_the_moment_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf(tmp_path / "uploads")
    session = shelf.session()
    names = list[list[str]]()
    write = uploads._write

    def watched(path: Path, content: Iterable[bytes]) -> None:
        names.append([upload.name for upload in shelf.kept(session)])
        write(path, content)

    monkeypatch.setattr(uploads, "_write", watched)
    keep(shelf, session, [upload("a"), upload("b")])
    assert names == [["a", "b"], ["a", "b"]]


def test_what_comes_while_the_last_is_written_is_written_too(tmp_path: Path) -> None:
    """Another session's page is drawn after the last look for more, and leaves its upload to the writer."""
    shelf = Shelf(tmp_path / "uploads")
    session = shelf.session()

    class Late:
        """A lock, before whose first release another upload comes."""

        def __init__(self) -> None:
            self.lock, self.uploads = Lock(), [upload("late")]

        def acquire(self, *, blocking: bool) -> bool:
            return self.lock.acquire(blocking=blocking)

        def release(self) -> None:
            while self.uploads:
                keep(shelf, session, [self.uploads.pop()])
            self.lock.release()

    shelf._writing = Late()  # type: ignore[assignment]
    keep(shelf, session, [upload("a")])
    assert sorted(upload.name for upload in Shelf(tmp_path / "uploads").kept(session)) == ["a", "late"]


def test_what_cannot_be_written_is_no_error_of_any_page(tmp_path: Path) -> None:
    """A request nested deeper than JSON is written: read, as a file reads one level more."""
    nested: list[object] = []
    for _ in range(50_000):  # from Python 3.12 on, 5,000 levels are written
        nested = [nested]
    capture = Capture(header=Header(endpoint=Endpoint.CHAT, request={"messages": nested}), events=[])
    shelf = Shelf(tmp_path / "uploads")
    session = shelf.session()
    keep(shelf, session, [Upload(name="deep", digest="1", capture=capture), upload("b")])
    assert [upload.name for upload in shelf.kept(session)] == ["b"]
    odd = replace(capture, header=replace(capture.header, request={"messages": {1}}))
    with pytest.raises(TypeError):  # our own mistake is shown once, not by every page from then on
        keep(shelf, session, [Upload(name="odd", digest="1", capture=odd)])
    shelf.keep()


def test_a_long_file_is_not_copied_to_be_written(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "uploads")
    session, large = shelf.session(), upload("a", 20_000_000)
    shelf.hold(session, [large])
    tracemalloc.start()
    shelf.keep()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000
    assert [path.stat().st_size > 20_000_000 for path in (tmp_path / "uploads" / session).iterdir()] == [True]


def test_archives_stay_below_their_session_whatever_they_are_called(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "uploads")
    session = shelf.session()
    names = (
        "runs.zip",
        "../../x.zip",
        "..",
        "",
        "/etc/passwd",
        "a\0b.zip",
        "x" * 500,
        "a:b\\c",
        ".hidden",
        "runs",
    )
    archives = shelf.archives(session)
    assert archives is not None
    for name in names:
        [path] = shelf.add_archives(session, name, [(name, b"PK\x03\x04")])
        assert path.parent.parent == archives
        assert path.resolve().is_relative_to((tmp_path / "uploads" / session).resolve())
        assert path.stat().st_mode & 0o777 == 0o600
    folders = [folder.name for folder in archives.iterdir()]
    assert len(folders) == len(names)
    assert {"runs", "runs (2)"} <= set(folders)
    assert not any(name.startswith(".") for name in folders)
    assert {folder.stat().st_mode & 0o777 for folder in (archives, archives.parent)} == {0o700}


def test_an_archive_that_has_no_room_is_named_and_removes_no_other(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "uploads", bytes_at_most=10_000)
    session = shelf.session()
    [first] = shelf.add_archives(session, "a.zip", [("a.zip", bytes(6_000))])
    with pytest.raises(InspectorError, match=r"b\.zip: more than 512 MB with what this session has already"):
        shelf.add_archives(session, "b.zip", [("b.zip", bytes(6_000))])
    assert first.exists()
    with pytest.raises(InspectorError, match=r"a\.zip: there is no folder to keep it in"):
        Shelf(None).add_archives(session, "a.zip", [("a.zip", b"")])


def test_archives_count_for_the_room_of_all_sessions(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "uploads", bytes_at_most=10_000)
    old, new = shelf.session(), shelf.session()
    shelf.add_archives(old, "a", [("a", bytes(6_000))])
    os.utime(tmp_path / "uploads" / old, (1, 1))
    shelf.add_archives(new, "b", [("b", bytes(6_000))])
    shelf.place(new, "c")
    assert [folder.name for folder in (tmp_path / "uploads").iterdir()] == [new]
