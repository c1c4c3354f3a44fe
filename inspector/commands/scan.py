"""`scan`: audit thousands of captures into Parquet tables, and summarize them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

from inspector.capture.formats import count, number
from inspector.commands.options import Command, Options, flag, option, whole
from inspector.commands.progress import progress
from inspector.commands.shared import FailOn, as_json, exit_level
from inspector.commands.terminal import print_json, say
from inspector.data.scan import Library, Progress, progress_words, scan, summarise, summary_lines, summary_row
from inspector.data.scan.pooling import Runner
from inspector.data.scan.reporting import Summary
from inspector.net.runs.registry import FOLDER_VARIABLE

_EXAMPLE: Final = """example:
  python -m inspector scan captures/ --out scans/canary
  python -m inspector scan 'runs/**/*.jsonl.zst' results.zip s3://bucket/evals/ --out scans/evals
  python -m inspector scan --out scans/evals        (the same places again; reads only what changed)
  python -m inspector library scans/evals --filter "kind = 'dropped' AND tokens > 500"

Writes a table of captures and a table of findings to DIR as Parquet files, see docs/scan.md. To resume a scan
that was stopped, run the same command again. Remote places need their fsspec package (s3fs, gcsfs, ...).

exit codes: 0 no findings at the level of --fail-on, 1 findings, 2 a file cannot be read
"""
_ENDINGS: Final = 4


class Scan(Options):
    """Audit folders, globs, zip archives and object stores into two Parquet tables."""

    places: tuple[str, ...] = option(
        "a folder, file, glob, zip archive or URL (default: those of the last scan in DIR)",
        (),
        "PLACE",
        positional=True,
    )
    out: str | None = option(
        "folder for the tables (default: captures/scan, or scan in HARMONY_INSPECTOR_CAPTURES)", None, "DIR"
    )
    jobs: Annotated[int, whole("number of processes", 1, 1024)] | None = option(
        "processes (default: one per core)", None
    )
    ray: str | None = option(
        "run on a Ray cluster, e.g. ray://head:10001 or auto; local starts one on this machine",
        None,
        "ADDRESS",
    )
    again: bool = flag("read every file again, even if it has not changed")
    json: bool = as_json()
    quiet: bool = flag("print no progress")
    fail_on: FailOn = exit_level()


def run(options: Scan) -> int:
    """Scan, print the summary, and exit as `audit` does."""
    out = scan_folder(options.out)
    with progress(quiet=options.quiet, log=True) as step:
        scanned = scan(
            options.places,
            out,
            jobs=options.jobs,
            again=options.again,
            runner=None if options.ray is None else _on_ray(options.ray, options.jobs),
            tell=lambda far: step(progress_words(far)),
        )
    with Library(out, hold=False) as library:
        summary = summarise(library)
        ignored = library.manifest.ignored
    if options.json:
        row = {"folder": str(out), "scan": _scan_row(scanned, ignored), **summary_row(summary)}
        print_json(row)
    else:
        say([*summary_lines(summary), "", *_scan_lines(scanned, ignored, out)])
    return _exit_code(summary, options.fail_on)


def _on_ray(address: str, jobs: int | None) -> Runner:
    """A runner on Ray; the import takes a second, so it is made only here."""
    from inspector.data.scan.spread import spread  # noqa: PLC0415 -- see above

    return spread(address, jobs)


def scan_folder(folder: str | None) -> Path:
    """The folder of a scan: what the command line says, else the default."""
    return default_folder() if folder is None else Path(folder)


def default_folder() -> Path:
    """The folder of a scan if none is given."""
    return Path(os.environ.get(FOLDER_VARIABLE, "captures")) / "scan"


def _scan_row(progress: Progress, ignored: Mapping[str, int]) -> dict[str, object]:
    return {
        "files": progress.files,
        "unchanged": progress.skipped,
        "removed": progress.removed,
        "seconds": round(progress.elapsed_s, 3),
        "ignored": dict(ignored),
    }


def _scan_lines(progress: Progress, ignored: Mapping[str, int], out: Path) -> list[str]:
    words = [f"{count(progress.files, 'file')} read", f"{number(progress.skipped)} unchanged"]
    if progress.removed:
        words.append(f"{number(progress.removed)} removed")
    lines = [f"{', '.join(words)}; tables in {out}"]
    if ignored:
        by_count = sorted(ignored.items(), key=lambda pair: (-pair[1], pair[0]))
        endings = ", ".join(f"{ending} ({number(amount)})" for ending, amount in by_count[:_ENDINGS])
        total = sum(ignored.values())
        lines.append(
            f"{count(total, 'file')} of other types {'was' if total == 1 else 'were'} ignored: {endings}"
            f"{', ...' if len(by_count) > _ENDINGS else ''}; name a file or glob to read it"
        )
    lines.append(f"to see them: the Library page of the dashboard, Scan: {out.resolve()}")
    return lines


def _exit_code(summary: Summary, level: FailOn) -> int:
    if summary.counts.unread:
        return 2
    if level == "never":
        return 0
    return int(summary.severities["error"] > 0 or (level == "warning" and any(summary.severities.values())))


COMMAND: Final = Command(Scan, run, _EXAMPLE)
