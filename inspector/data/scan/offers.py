"""Which scans the dashboard shows, and how a row of one becomes a capture again.

The operator names the folders, or somebody types one into the Library page or drops files on it. No address
names a folder: it may come from another web page. The rows of a folder name files, and a folder may come from
elsewhere: so a file is shown only if its content has the hash that its row has, which whoever made the row
must have known, and a remote place is asked only if the operator allowed it.
"""

import os
import stat
from collections.abc import Container, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from inspector.capture.capture import Capture
from inspector.capture.errors import InspectorError, StoreError
from inspector.capture.replay_only import reject_path, replay_only
from inspector.data.scan.folder import MANIFEST, is_scan
from inspector.data.scan.items import ItemReader, ScanItem, from_text
from inspector.data.scan.remote import is_url
from inspector.data.scan.rows import digest_of
from inspector.files.store import FIXTURES, loads_all
from inspector.net.runs.registry import FOLDER_VARIABLE

SCANS_VARIABLE: Final = "HARMONY_INSPECTOR_SCANS"
"""Environment variable with folders that the Library page shows, or whose direct subfolders it shows,
separated as in PATH."""

REMOTE_VARIABLE: Final = "HARMONY_INSPECTOR_REMOTE"
"""Environment variable with beginnings of URLs from which the dashboard may read, separated by spaces."""


EXAMPLE: Final = FIXTURES / "example"
"""The rows of the captures in fixtures/matrix (tools/make_example.py); an installed package has none."""


def offered_scans(own: Iterable[Path] = ()) -> dict[str, Path]:
    """The scans of a session's own folders, those that the operator allows, and the example, by name.

    Pages and addresses use the names. A dashboard that only replays has those of the session and the example.
    """
    extra = [Path(path) for path in os.environ.get(SCANS_VARIABLE, "").split(os.pathsep) if path]
    scans: dict[str, Path] = {}
    for folder in (*own, *([] if replay_only() else [_captures(), *extra]), EXAMPLE):
        for candidate in (folder, *_subfolders(folder)):
            resolved = candidate.resolve()
            if is_scan(candidate) and resolved not in scans.values():
                scans[_free_name(resolved, scans)] = resolved
    return scans


def typed_place(text: str) -> Path:
    """What somebody typed: a scan, a folder with scans, or what has captures; raises InspectorError."""
    reject_path(text)
    try:
        place = Path(text.strip()).expanduser()
        if place.is_absolute() and place.exists():
            return place
    except (OSError, ValueError, RuntimeError):
        pass
    raise InspectorError(f"{text.strip()}: no such folder or file; type its full path")


def has_scans(folder: Path) -> bool:
    """Whether a folder is a scan, or has scans directly below it."""
    return is_scan(folder) or any(map(is_scan, _subfolders(folder)))


def _captures() -> Path:
    return Path(os.environ.get(FOLDER_VARIABLE, "captures"))


def _free_name(path: Path, taken: Container[str]) -> str:
    """The last part of a path, with as many before it as tell it from the others."""
    names = ("/".join(path.parts[-size:]) for size in range(1, len(path.parts)))
    return next((name for name in names if name not in taken), str(path))


def scan_stamp(folder: Path) -> str:
    """What changes with each scan into a folder."""
    try:
        status = (folder / MANIFEST).stat()
        return f"{status.st_mtime_ns} {status.st_ino}"
    except OSError as error:
        raise StoreError(f"{folder}: the scan no longer exists; reload the page") from error


def open_row(row: Mapping[str, Any]) -> Capture:
    """The capture of a row, read again from where it is; raises InspectorError if it is not as it was."""
    if row["error"] is not None:
        raise InspectorError(f"{row['name']}: {row['error']}")
    captures = loads_all(row_content(row), _item(row).name)
    number = int(row["number"])
    if number > len(captures):
        raise StoreError(f"{row['name']}: has only {len(captures)} captures; scan again")
    return captures[number - 1]


def row_content(row: Mapping[str, Any]) -> bytes:
    """The file of a row; raises InspectorError if it is not as it was when it was scanned."""
    item = _item(row)
    if row["digest"] is None:
        raise InspectorError(f"{item.name}: {row['error'] or 'could not be read by the scan'}")
    if is_url(item.path):
        _allowed(item.path)
    elif not _is_file(item.path):
        raise StoreError(f"{item.name}: no longer exists; scan again")
    with closing(ItemReader()) as reader:
        content = reader.content(item)
    if digest_of(content) != row["digest"]:
        raise StoreError(f"{item.name}: has changed since the scan; scan again")
    return content


def _item(row: Mapping[str, Any]) -> ScanItem:
    path = from_text(row["path"])
    if not is_url(path):
        path = os.path.join(FIXTURES.parent, path)  # the example's are relative
    return ScanItem(path, row["member"], row["size"], row["stamp"])


def _subfolders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return []


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _allowed(url: str) -> None:
    """Raise InspectorError for a URL that the operator did not allow: a row must not choose what is asked."""
    for prefix in os.environ.get(REMOTE_VARIABLE, "").split():
        inside = url.startswith(prefix) and (prefix.endswith("/") or url[len(prefix) :][:1] in {"", "/"})
        if inside and ".." not in url.split("/") and prefix.partition("://")[2].strip("/"):
            return
    place = "/".join([*url.split("/")[:3], ""])
    raise InspectorError(
        f"the capture is at {place}; to open captures from there, start the dashboard with "
        f"{REMOTE_VARIABLE}={place}"
    )
