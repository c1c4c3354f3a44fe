"""Which scans the dashboard shows, and how a row of one becomes a capture again.

The operator names the folders, or somebody types one into the Library page. No address names a folder: it may
come from another web page. The rows of a folder name files, and a folder may come from elsewhere: so a file
is shown only if its content has the hash that its row has, which whoever made the row must have known, and a
remote place is asked only if the operator allowed it.
"""

import os
import stat
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from inspector.capture.capture import Capture
from inspector.capture.errors import InspectorError, StoreError
from inspector.data.scan.folder import MANIFEST, is_scan
from inspector.data.scan.items import ItemReader, ScanItem, from_text
from inspector.data.scan.remote import is_url
from inspector.data.scan.rows import digest_of
from inspector.data.scan.scanning import Progress, scan
from inspector.files.store import FIXTURES, loads_all
from inspector.net.runs.registry import FOLDER_VARIABLE

SCANS_VARIABLE: Final = "HARMONY_INSPECTOR_SCANS"
"""Environment variable with folders that the Library page shows, or whose direct subfolders it shows,
separated as in PATH."""

REMOTE_VARIABLE: Final = "HARMONY_INSPECTOR_REMOTE"
"""Environment variable with beginnings of URLs from which the dashboard may read, separated by spaces."""


def offered_scans(typed: Iterable[Path] = ()) -> dict[str, Path]:
    """The scans that the operator allows and those typed, by the name that pages and addresses use."""
    extra = [Path(path) for path in os.environ.get(SCANS_VARIABLE, "").split(os.pathsep) if path]
    scans: dict[str, Path] = {}
    for folder in (_captures(), *extra, *typed):
        for candidate in (folder, *_subfolders(folder)):
            resolved = candidate.resolve()
            if is_scan(candidate) and resolved not in scans.values():
                scans[_free_name(resolved, scans)] = resolved
    return scans


def typed_scan(text: str) -> Path:
    """The folder that somebody typed; raises InspectorError where it has no scan."""
    folder = Path(text.strip()).expanduser()
    try:
        if is_scan(folder) or any(map(is_scan, _subfolders(folder))):
            return folder
    except (OSError, ValueError):
        pass
    raise InspectorError(f"{text.strip()}: no scan there; name the folder of `scan --out`, as a full path")


def scan_example(tell: Callable[[Progress], None] = lambda _: None) -> None:
    """Scan the captures of the repository into the folder of live captures.

    They are those of eight releases in fixtures/matrix; in an installed package, which has none, the built-in
    ones.
    """
    places = sorted(FIXTURES.glob("matrix/*.zip")) or sorted(FIXTURES.glob("*.jsonl"))
    scan([str(place) for place in places], _captures() / "example", tell=tell)


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
    item = ScanItem(from_text(row["path"]), row["member"], row["size"], row["stamp"])
    if row["error"] is not None or row["digest"] is None:
        raise InspectorError(f"{item.name}: could not be read by the scan, so there is no capture to open")
    if is_url(item.path):
        _allowed(item.path)
    elif not _is_file(item.path):
        raise StoreError(f"{item.name}: no longer exists; scan again")
    with closing(ItemReader()) as reader:
        content = reader.content(item)
    if digest_of(content) != row["digest"]:
        raise StoreError(f"{item.name}: has changed since the scan; scan again")
    captures = loads_all(content, item.name)
    number = int(row["number"])
    if number > len(captures):
        raise StoreError(f"{item.name}: has only {len(captures)} captures; scan again")
    return captures[number - 1]


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
