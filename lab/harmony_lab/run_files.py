"""Writes the files of a run: captures, loose and then archived, and scores."""

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from inspector.capture.capture import Capture, Endpoint
from inspector.capture.errors import LabError
from inspector.files.store import save
from inspector.matrix.results import FORMAT, MatrixRun, RunFiles, member_name, open_archive


class RunWriter(RunFiles):
    """The files of one run, which is recorded."""

    def keep(self, endpoint: Endpoint, script: str, capture: Capture) -> None:
        """Write a capture as a loose file."""
        self.loose.mkdir(parents=True, exist_ok=True)
        save(capture, self.loose / member_name(endpoint, script))

    def pack(self) -> None:
        """Move the loose captures into the archive, replacing older ones of the same name."""
        loose = sorted(self.loose.glob("*.jsonl")) if self.loose.is_dir() else []
        if not loose:
            return
        names = {path.name for path in loose}
        kept = members(self.archive, lambda name: name not in names)
        write_archive(self.archive, {path.name: path.read_bytes() for path in loose} | kept)
        with _writing(self.archive):
            shutil.rmtree(self.loose)

    def write(self, run: MatrixRun) -> None:
        """Write the results file."""
        scores: dict[str, dict[str, Any]] = {}
        for (endpoint, script), score in sorted(run.scores.items()):
            row: dict[str, Any] = {"outcome": score.outcome.value}
            if score.kinds:
                row["kinds"] = list(score.kinds)
            if score.differences:
                row["differences"] = list(score.differences)
            if score.sampler:
                row["sampler"] = score.sampler
            if kept_in := run.kept_in.get((endpoint, script)):
                row["kept_in"] = kept_in
            scores.setdefault(endpoint.value, {})[script] = row
        record = {
            "format": FORMAT,
            "package": run.package,
            "version": run.version,
            "stream_interval": run.stream_interval,
            **({"steps": run.steps} if run.steps else {}),
            "front_end": run.front_end,
            "engine": run.engine,
            "recorded_at": run.recorded_at,
            "packages": dict(sorted(run.packages.items())),
            "scores": scores,
        }
        partial = self.results.with_suffix(".part")
        with _writing(self.results):
            self.results.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            partial.replace(self.results)


def members(path: Path, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """The wanted members of an archive by name; empty if there is no archive."""
    if not path.exists():
        return {}
    with open_archive(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if wanted(name)}


def write_archive(path: Path, contents: Mapping[str, bytes]) -> None:
    """Write an archive of these members; the same members make the same bytes."""
    partial = path.with_suffix(".part")
    with _writing(path), zipfile.ZipFile(partial, "w", zipfile.ZIP_LZMA) as packed:
        for name, content in contents.items():
            packed.writestr(_info(name), content)
    with _writing(path):
        partial.replace(path)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn errors of writing into LabError; recorded captures stay as loose files."""
    try:
        yield
    except OSError as error:
        raise LabError(
            f"{path}: cannot be written ({error.strerror or error}); free disk space or choose another "
            "folder, and run the command again to resume"
        ) from error


def _info(name: str) -> zipfile.ZipInfo:
    # A fixed time keeps archives of the same captures identical.
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_LZMA
    return info
