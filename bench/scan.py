"""Speed of `scan` on thousands of captures, relative to reading and auditing them one after the other.

python -m bench.scan [--captures 10000] [--tokens 200] [--rounds 3] [--keep DIR]

A tenth of the captures are real ones (those that come with the program), the others are well-formed chat
streams in the format of the servers: lengths around the median, 1 to 8 tokens per event. Speeds are captures
per second of CPU, and so per core: of all processes of the scan, and of as many processes that only read and
audit, both with the start of the processes. Those of a scan list, write and summarise too; copies of a
process count with the one that they are copies of. All in one run, as machines are noisy.
"""

import argparse
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.core import capture, stream
from inspector.analysis.audit import audit
from inspector.analysis.reading import read
from inspector.data.scan.pooling import cores
from inspector.files.store import builtin, load, load_all, save
from inspector.inspection.inspection import inspect

FOLDERS = 50
VERSIONS = ("0.14.1", "0.23.0", "0.32.0", "0.33.0")
SHORTEST = 14


def write_captures(folder: Path, captures: int, tokens: int) -> list[Path]:
    """Write captures, the same ones each time; returns their files."""
    chance = random.Random(14)
    samples = [load(source.path) for source in builtin() if not source.path.name.endswith(".gz")]
    start = datetime(2026, 11, 1, tzinfo=UTC)
    paths = []
    for number in range(captures):
        path = folder / f"{number % FOLDERS:02d}" / f"capture-{number:06d}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        if number % 10 == 0:
            sample = samples[number // 10 % len(samples)]
        else:
            length = max(SHORTEST, round(tokens * chance.lognormvariate(0, 0.6)))
            sample = capture(stream(length), chance.choice((1, 1, 1, 3, 8)))
            sample = replace(sample, header=replace(sample.header, server_version=chance.choice(VERSIONS)))
        moment = start + timedelta(minutes=4 * number)
        save(replace(sample, header=replace(sample.header, started_at=moment.isoformat())), path)
        paths.append(path)
    return paths


def plain(paths: Sequence[Path], work: Callable[[Path], None]) -> int:
    """Process files sequentially; returns their number."""
    for path in paths:
        work(path)
    return len(paths)


def side_by_side(paths: Sequence[Path], work: Callable[[Path], None]) -> float:
    """Captures per second of CPU, by as many processes at once as a scan has, their start included."""
    count, before = cores(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        list(pool.map(plain, [paths[start::count] for start in range(count)], [work] * count))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return len(paths) / (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def audited(path: Path) -> None:
    """Read and audit."""
    for loaded in load_all(path):
        audit(read(loaded))


def inspected(path: Path) -> None:
    """Do what `audit` does: read, audit, name causes, give a verdict."""
    for loaded in load_all(path):
        inspect(loaded)


def scanned(folder: Path, out: Path) -> tuple[float, float, int]:
    """Seconds of CPU of all processes, seconds by the clock, and bytes of the largest process."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "inspector", "scan", str(folder), "--out", str(out), "--quiet"]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, after.ru_maxrss * 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captures", type=int, default=10_000)
    parser.add_argument("--tokens", type=int, default=200, help="the median")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", metavar="DIR", help="keep captures and tables there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(arguments.keep or temporary)
        paths = write_captures(root / "captures", arguments.captures, arguments.tokens)
        works = {"read + audit": audited, "read + audit + causes + verdict": inspected}
        ratios: dict[str, list[float]] = {name: [] for name in works}
        size = sum(path.stat().st_size for path in paths)
        print(f"{len(paths):,} captures, {arguments.tokens} tokens at the median, {size / 2**20:,.0f} MiB")
        for number in range(arguments.rounds):
            speeds = {name: [side_by_side(paths, work)] for name, work in works.items()}
            cpu, wall, largest = scanned(root / "captures", root / f"scan-{number}")
            print(
                f"scan: {len(paths) / cpu:,.0f} captures per second of CPU, {wall:.1f} s on {cores()} cores"
            )
            for name, work in works.items():  # before and after, for the noise
                speeds[name].append(side_by_side(paths, work))
                ratios[name].append(len(paths) / cpu / statistics.mean(speeds[name]))
        second_scan = scanned(root / "captures", root / "scan-0")
        for name, values in ratios.items():
            rounds = ", ".join(f"{value:.2f}" for value in values)
            print(f"relative to {name}: {statistics.median(values):.2f} (rounds: {rounds})")
        print(f"largest process: {largest / 2**20:,.0f} MiB; a second scan: {second_scan[1]:.1f} s")


if __name__ == "__main__":
    main()
