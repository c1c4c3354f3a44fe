"""The items of some places: folders, globs, zip archives and URLs."""

import glob
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from inspector.capture.errors import InspectorError, StoreError
from inspector.data.scan.folder import LOCK, MANIFEST
from inspector.data.scan.items import ScanItem, from_text
from inspector.data.scan.local import open_at_once
from inspector.data.scan.remote import is_url, remote_files
from inspector.data.scan.zips import opened_zip
from inspector.fleet.probe.shelf import PLAN, ROWS

ENDINGS: Final = (".har", ".json", ".jsonl", ".log", ".ndjson", ".out", ".sse", ".txt", ".zip")
"""Files of a folder or an archive that are read, also with `.gz` or `.zst` behind; a file that is named
itself is always read."""

_BESIDE: Final = {MANIFEST: LOCK, PLAN: ROWS, ROWS: PLAN}
"""Files of this program that are not captures; each is known by another file in its folder."""
_PACKED: Final = (".gz", ".zst")
_ZIP: Final = b"PK\x03\x04"
_SIZE_AT_MOST: Final = 2**62
"""What a table holds; the directory of an archive may claim more."""


def items_at(
    places: Iterable[str], ignored: Counter[str], *, but: Path | None = None, every: bool = False
) -> Iterator[ScanItem]:
    """All items of some places, in no order; an item that two places have comes twice.

    Counts in `ignored` the files of folders and archives that are left out, by ending; with `every`, only
    hidden members of an archive are. `but` is a folder that is left out. Raises InspectorError for a place
    that does not exist.
    """
    for place in places:
        if every and _is_zip(place):
            yield from _of_zip(place, *_status(place), ignored, every=True)
        else:
            yield from _of_place(place, ignored, None if but is None else but.resolve())


def whole_place(place: str) -> str:
    """A place as it is kept for the next scan, which may run in another folder."""
    return place if is_url(place) else os.path.join(os.getcwd(), os.path.expanduser(place))


def _of_place(place: str, ignored: Counter[str], but: Path | None) -> Iterator[ScanItem]:
    place = from_text(place)
    if not place.strip():
        raise InspectorError(
            "a place is empty; pass a file, folder, glob or URL (. for the working directory)"
        )
    if is_url(place):
        yield from _remote(place, ignored)
        return
    path = os.path.abspath(os.path.expanduser(place))
    if os.path.isdir(path):
        yield from _of_folder(path, ignored, but)
    elif os.path.lexists(path):
        yield from _of_file(path, ignored)
    elif glob.has_magic(place):
        matched = Counter[bool]()
        for name in glob.iglob(os.path.expanduser(place), recursive=True):
            is_folder = os.path.isdir(name)
            matched[is_folder] += 1
            if not is_folder and not _is_of_ours(name):
                yield from _of_file(os.path.abspath(name), ignored)
        if not matched[False]:
            why = "only folders match; pass the folders" if matched else "no file matches; check the pattern"
            raise InspectorError(f"{place}: {why}")
    else:
        raise StoreError(f"{place}: no such file or folder; check the name")


def _of_folder(folder: str, ignored: Counter[str], but: Path | None) -> Iterator[ScanItem]:
    """Files below a folder; hidden ones are left out, and a folder that links lead to twice is read once."""
    waiting, visited = [folder], set[tuple[int, int]]()
    while waiting:
        current = waiting.pop()
        try:
            status = os.stat(current)
            if (status.st_dev, status.st_ino) in visited or (
                but is not None and Path(current).resolve() == but
            ):
                continue
            visited.add((status.st_dev, status.st_ino))
            folders = list[str]()
            with os.scandir(current) as entries:
                for entry in entries:
                    if entry.name.startswith(".") or _is_of_ours(entry.path):
                        continue
                    if _is_folder(entry):
                        folders.append(entry.path)
                    elif _wanted(entry.name):
                        yield from _of_file(entry.path, ignored)
                    else:
                        ignored[_ending(entry.name)] += 1
            waiting += sorted(folders)  # of two links to a folder each scan takes the same
        except OSError as error:
            yield ScanItem(
                current, None, 0, "", f"the folder cannot be read ({error.strerror}); check its permissions"
            )


def _is_of_ours(path: str, exists: Callable[[str], bool] = os.path.exists) -> bool:
    """Whether a file is the list of parts of a scan, or the plan or the rows of a probe, beside captures."""
    folder, name = os.path.split(path)
    beside = _BESIDE.get(name)
    return beside is not None and exists(os.path.join(folder, beside))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _of_file(path: str, ignored: Counter[str]) -> Iterator[ScanItem]:
    try:
        status = os.stat(path)
    except OSError as error:
        yield ScanItem(path, None, 0, "", f"cannot be read ({error.strerror}); check the file")
        return
    if not stat.S_ISREG(status.st_mode):
        yield ScanItem(path, None, 0, "", "is not a regular file; it is not read")
        return
    stamp = str(status.st_mtime_ns)
    if _is_zip(path):
        yield from _of_zip(path, status.st_size, stamp, ignored)
    else:
        yield ScanItem(path, None, status.st_size, stamp)


def _is_zip(path: str) -> bool:
    """Whether a file is an archive, by its content; by its name where it can only be a damaged one."""
    if path.endswith((".jsonl", ".json", ".gz", ".zst")):
        return False
    try:
        with open_at_once(path) as file:
            return file.read(len(_ZIP)) == _ZIP or path.lower().endswith(".zip")
    except OSError:
        return False


def _status(path: str) -> tuple[int, str]:
    status = os.stat(path)
    return status.st_size, str(status.st_mtime_ns)


def _of_zip(
    path: str, size: int, stamp: str, ignored: Counter[str], *, every: bool = False
) -> Iterator[ScanItem]:
    """The members of an archive, or the archive itself where it cannot be read."""
    try:
        archive = opened_zip(path)
    except InspectorError as error:
        archive_item = ScanItem(path, None, size, stamp)
        yield archive_item._replace(trouble=str(error).removeprefix(f"{archive_item.name}: "))
        return
    # Of several members with one name the last one counts, as for `zipfile`.
    members = {member.filename: member for member in archive.members()}
    for name, member in members.items():
        file = name.rpartition("/")[2]
        if not every and _is_of_ours(name, members.__contains__):
            continue
        if not file.startswith(".") if every else _wanted(file):
            yield ScanItem(path, name, min(member.file_size, _SIZE_AT_MOST), f"crc32 {member.CRC:08x}")
        else:
            ignored[_ending(name)] += 1
    archive.close()


def _remote(url: str, ignored: Counter[str]) -> Iterator[ScanItem]:
    listed, single = remote_files(url)
    files = {path: (size, stamp) for path, size, stamp in sorted(listed)}
    for path, (size, stamp) in files.items():
        if not single and _is_of_ours(path, files.__contains__):
            continue
        name = path.rpartition("/")[2]
        if not single and not _wanted(name):
            ignored[_ending(name)] += 1
        elif name.lower().endswith(".zip"):
            yield from _of_zip(path, size, stamp, ignored)
        else:
            yield ScanItem(path, None, size, stamp)


def _wanted(name: str) -> bool:
    lower = name.lower()
    if name.startswith("."):
        return False
    if lower.endswith(_PACKED):
        rest = lower.rpartition(".")[0]
        return rest.endswith(ENDINGS) or "." not in rest.lstrip(".")
    return lower.endswith(ENDINGS)


def _ending(name: str) -> str:
    lower = name.rpartition("/")[2].lower()
    stem, dot, ending = lower.rpartition(".")
    return f".{ending[:12]}" if dot and stem else "no ending"
