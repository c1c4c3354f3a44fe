"""Whether masked captures of the matrix keep their findings, and the cost of masking.

python -m bench.redaction [--share 0.1]
"""

import argparse
import random
import time

from inspector.inspection.inspection import inspect
from inspector.inspection.masking import MaskingFailed, Standins, masked
from inspector.matrix.results import captures_of, every_run


def main() -> None:
    """Print how many captures keep their findings, and the time per capture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the captures (default: all)")
    share = parser.parse_args().share
    chance = random.Random(1)
    count, failed = 0, []
    spent_s = audit_s = 0.0
    for run in every_run():
        for endpoint, script, capture in captures_of(run):
            if chance.random() >= share:
                continue
            count += 1
            began_s = time.perf_counter()
            inspect(capture)
            audit_s += time.perf_counter() - began_s
            began_s = time.perf_counter()
            try:
                masked(capture, Standins(str(count).encode()))
            except MaskingFailed:
                failed.append(f"{run.name} {endpoint} {script}")
            spent_s += time.perf_counter() - began_s
    print(f"{count:,} captures, {count - len(failed):,} redacted with the same findings")
    print(f"{spent_s / count * 1e3:.1f} ms per capture; one audit takes {audit_s / count * 1e3:.1f} ms")
    for line in failed:
        print(f"  not redacted: {line}")


if __name__ == "__main__":
    main()
