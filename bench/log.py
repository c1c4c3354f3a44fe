"""Speed and memory use of diagnosing a server log: a real log, repeated to any size.

python bench/log.py          100 MB, three mixes of failures
python bench/log.py --gb 1   1 GB, one tenth failures

The log comes from a generator, so that only the diagnosis uses memory; times are CPU times of this process.
"""

import argparse
import gzip
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from inspector.issues.texts.diagnose import diagnose_text  # noqa: E402

LOG = ROOT / "fixtures" / "logs" / "vllm-0.13.0.log.gz"
QUIET = (
    "INFO 11-20 22:{minute:02}:{second:02} [loggers.py:248] Engine 000: Avg prompt throughput: 248.9 "
    "tokens/s, Avg generation throughput: 72.8 tokens/s, Running: 0 reqs, Waiting: 0 reqs, GPU KV cache "
    "usage: 0.0%\n",
    '(APIServer pid=1) INFO:     127.0.0.1:52128 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n',
)


def lines(size: int, quiet: int) -> Iterator[str]:
    """Lines of `size` characters in all: the real log after each `quiet` quiet lines."""
    log_lines = gzip.decompress(LOG.read_bytes()).decode("utf-8").splitlines(keepends=True)
    written = 0
    while written < size:
        for number in range(quiet):
            line = QUIET[number % 2].format(minute=number // 60 % 60, second=number % 60)
            written += len(line)
            yield line
        for line in log_lines:
            written += len(line)
            yield line


def main() -> None:
    """Print one row per mix."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, help="diagnose one log of this size in GB, one tenth failures")
    size = parser.parse_args().gb
    mixtures = {"failures only": 0, "one tenth failures": 9_000, "1 % failures": 99_000}
    chosen = {"one tenth failures": mixtures["one tenth failures"]} if size else mixtures
    print(f"{'log':<18} {'MB':>7} {'lines':>11} {'seconds':>8} {'MB/s':>6} {'failures':>9} {'peak MiB':>9}")
    for name, quiet in chosen.items():
        start = time.process_time()
        diagnosis = diagnose_text(lines(int((size or 0.1) * 1e9), quiet))
        seconds = time.process_time() - start
        megabytes = diagnosis.characters / 1e6
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        failures = sum(failure.count for failure in diagnosis.failures)
        print(
            f"{name:<18} {megabytes:>7,.0f} {diagnosis.lines:>11,} {seconds:>8.1f} "
            f"{megabytes / seconds:>6.1f} {failures:>9,} {peak:>9,}",
            flush=True,
        )


if __name__ == "__main__":
    main()
