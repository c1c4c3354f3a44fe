"""Time and memory for aligning two token streams, ordinary and hostile ones.

python bench/compare.py
"""

import random
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from inspector.inspection.compare import lay

LENGTHS = (20_000, 131_072)


def streams(length: int) -> dict[str, tuple[list[int], list[int]]]:
    """Pairs of streams by name."""
    chance = random.Random(1)
    left = [chance.randrange(200_000) for _ in range(length)]
    return {
        "the same": (left, list(left)),
        "1 % lost": (left, [item for item in left if chance.random() > 0.01]),
        "10 % lost": (left, [item for item in left if chance.random() > 0.1]),
        "halves swapped": (left, left[length // 2 :] + left[: length // 2]),
        "unrelated": (left, [chance.randrange(200_000) for _ in range(length)]),
        "shuffled": (left, chance.sample(left, length)),
        "two ids only": ([chance.randrange(2) for _ in left], [chance.randrange(2) for _ in left]),
        "periods": ([1, 2] * (length // 2), [2, 1, 1] * (length // 3)),
    }


def main() -> None:
    """Print one row per pair; times are CPU seconds of this process, whatever else runs."""
    print(f"{'tokens':>8} {'streams':<15} {'seconds':>8} {'equal':>8} {'exact':>6} {'peak MiB':>9}")
    for length in LENGTHS:
        for name, (left, right) in streams(length).items():
            start = time.process_time()
            sides = lay(left, right)
            seconds = time.process_time() - start
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(
                f"{length:>8,} {name:<15} {seconds:>8.3f} {sides.counts.equal:>8,} "
                f"{'yes' if sides.exact else 'no':>6} {peak:>9,}"
            )


if __name__ == "__main__":
    main()
