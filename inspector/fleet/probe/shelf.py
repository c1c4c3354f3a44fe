"""The folder of a probe: its plan, a row for each request, and the captures that are kept.

A row is written when its request has ended, so a run that is stopped or killed can be resumed. An incomplete
last row is ignored, and its request is sent again.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final, TextIO

from inspector.capture.capture import Capture, Endpoint
from inspector.capture.errors import InspectorError, StoreError
from inspector.files.locking import lock
from inspector.files.store import load, replacing, save
from inspector.fleet.probe.rows import AuditedResponse, ProbeRow, Result, audited_response
from inspector.inspection.masking import Standins, masked
from inspector.views.summary import Fix

CAPTURES_AT_MOST: Final = 1000
"""Captures that one probe keeps, at most."""

PLAN: Final = "probe.json"
"""What the probe was started with."""

ROWS: Final = "rows.jsonl"
"""A row for each request that has ended."""


class ProbeShelf:
    """The folder; raises StoreError when it cannot be written, or belongs to another probe."""

    def __init__(
        self, folder: Path, plan: Mapping[str, Any], *, keep_clean: float = 0.0, redact: bool = False
    ) -> None:
        self.folder = folder
        self._keep_clean = keep_clean
        self._redact = redact
        self._kept = 0
        self._file: TextIO | None = None
        self.captures = folder / "captures"
        resumes = self._resumes(json.loads(json.dumps(plan)))
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # rows quote what a model said
            if not resumes:
                with replacing(folder / PLAN) as file:
                    file.write(json.dumps(plan, indent=1).encode() + b"\n")
            self.captures.mkdir(mode=0o700, exist_ok=True)
            self._file = _opened(folder / ROWS)
            self.rows = _rows(self._file)
        except (OSError, ValueError) as error:
            words = error.strerror if isinstance(error, OSError) else str(error)
            raise StoreError(f"{folder}: cannot be written ({words}); choose another --out") from error
        self._kept = sum(bool(row.capture) for row in self.rows)

    def _resumes(self, plan: Mapping[str, Any]) -> bool:
        """Whether the folder has an earlier run of the same plan."""
        try:
            before = json.loads((self.folder / PLAN).read_text("utf-8"))
        except FileNotFoundError:
            if self.folder.is_dir() and any(self.folder.iterdir()):
                raise StoreError(
                    f"{self.folder}: is not empty and not the folder of a probe; choose another --out"
                ) from None
            return False
        except (OSError, ValueError) as error:
            raise StoreError(f"{self.folder}: the earlier run cannot be read ({error})") from error
        if not isinstance(before, dict):
            raise StoreError(f"{self.folder}: the earlier run cannot be read; choose another --out")
        changed = sorted(key for key in {*before, *plan} if before.get(key) != plan.get(key))
        if changed:
            raise StoreError(
                f"{self.folder}: contains a probe with other {changed[0]}; choose another --out, "
                "or the same settings"
            )
        return True

    def keep(self, row: ProbeRow, capture: Capture) -> ProbeRow:
        """Write a row, and its capture if it is worth keeping; the row with the file's name."""
        if self._redact:
            row, stored = _redacted(row, capture)
        else:
            stored = capture
        if stored is not None and self._worth_keeping(row):
            side = f"-{row.side}" if row.side else ""
            level = f"-{row.level}" if row.level else ""
            name = f"{row.result.value}-{row.endpoint.value}{side}{level}-{row.number + 1:05}.jsonl"
            try:
                save(stored, self.captures / name)
            except InspectorError as error:
                raise StoreError(f"the capture was not kept: {error}") from error
            self._kept += 1
            row = replace(row, capture=f"captures/{name}")
        assert self._file is not None  # noqa: S101 -- opened with the shelf
        try:
            self._file.write(_line(row))
            self._file.flush()
        except OSError as error:
            raise StoreError(
                f"{self.folder}: cannot be written ({error.strerror}); free some space"
            ) from error
        return row

    def _worth_keeping(self, row: ProbeRow) -> bool:
        if self._kept >= CAPTURES_AT_MOST:
            return False
        if row.result is not Result.OK:
            return True
        return int((row.number + 1) * self._keep_clean) > int(row.number * self._keep_clean)

    def capture(self, row: ProbeRow) -> Capture | None:
        """The capture of a row; None where it was not kept, or is gone."""
        if not row.capture:
            return None
        try:
            return load(self.folder / row.capture)
        except InspectorError:
            return None

    def close(self) -> None:
        """Close the file of rows."""
        if self._file is not None:
            self._file.close()


def _opened(path: Path) -> TextIO:
    """The rows, to be read and appended to by one process; a row that was cut is removed."""
    # Rows are written in ASCII; a damaged one is left out, and no reason to lose the others.
    file = path.open("a+", encoding="utf-8", errors="replace", newline="\n")
    try:
        lock(file)
    except OSError as error:
        file.close()
        raise StoreError(f"{path.parent}: another probe is writing here; wait for it to end") from error
    content = path.read_bytes()
    file.truncate(content.rfind(b"\n") + 1)
    return file


def _rows(file: TextIO) -> list[ProbeRow]:
    rows = []
    file.seek(0)
    for line in file:
        try:
            rows.append(row_of(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return rows


def _redacted(row: ProbeRow, capture: Capture) -> tuple[ProbeRow, Capture | None]:
    """A row and its capture without the text; None for a capture whose text cannot be replaced.

    The sentence of a row is that of the masked capture; a row that is ok has none.
    """
    without_text = replace(row, response=replace(row.response, sentence=""))
    try:
        masked_capture = masked(capture, Standins(os.urandom(32)))
    except InspectorError:
        return without_text, None
    if row.result is Result.OK:
        return without_text, masked_capture
    sentence = audited_response(masked_capture, None).sentence
    return replace(row, response=replace(row.response, sentence=sentence)), masked_capture


def row_values(row: ProbeRow) -> dict[str, Any]:
    """A row as flat JSON."""
    values = {key: getattr(row, key) for key in ProbeRow.__dataclass_fields__ if key != "response"}
    return {**values, **asdict(row.response)}


def _line(row: ProbeRow) -> str:
    return json.dumps(row_values(row), ensure_ascii=True) + "\n"


def row_of(values: Mapping[str, Any]) -> ProbeRow:
    """Inverse of `row_values`."""
    columns = dict(values)
    stored_fixes = columns.pop("fixes", ())  # rows of earlier versions have none
    inner = {key: columns.pop(key) for key in AuditedResponse.__dataclass_fields__ if key != "fixes"}
    inner["fixes"] = tuple(Fix(**fix) for fix in stored_fixes)
    inner["result"] = Result(inner["result"])
    inner["kinds"] = tuple(inner["kinds"])
    inner["gaps"] = {
        channel: {int(bucket): int(count) for bucket, count in counts.items()}
        for channel, counts in inner["gaps"].items()
    }
    return ProbeRow(
        **{**columns, "endpoint": Endpoint(columns["endpoint"]), "response": AuditedResponse(**inner)}
    )
