"""How often `probe --sweep` is wrong, by simulation: one load, and a sweep to 64, at a true loss rate.

python -m bench.sweep [--times 4000] [--smallest 0.01]
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from inspector.fleet.probe.loads import Sweep, levels_of


def main() -> None:
    """Print how loads and sweeps end, and how many responses they take."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=4000)
    parser.add_argument("--smallest", type=float, default=0.01)
    arguments = parser.parse_args()
    sweep, chance = Sweep(smallest=arguments.smallest), random.Random(1)
    shares = [factor * arguments.smallest for factor in (0, 0.03, 0.1, 0.3, 0.5, 1, 2, 5)]
    print("true rate   one load: loses  does not  undecided  responses   sweep: some load loses")
    for share in shares:
        ends, responses = Counter[bool | None](), 0
        for _ in range(arguments.times):
            end, checked = load(sweep, 8, share, chance)
            ends[end] += 1
            responses += checked
        swept = sum(
            any(load(sweep, level, share, chance)[0] for level in levels_of(sweep))
            for _ in range(arguments.times)
        )
        loses, clean, open_ = (f"{ends[end] / arguments.times:.1%}" for end in (True, False, None))
        print(
            f"{share:9.2%}{loses:>18}{clean:>10}{open_:>11}{responses / arguments.times:>11.0f}"
            f"{swept / arguments.times:>25.1%}"
        )


def load(sweep: Sweep, level: int, share: float, chance: random.Random) -> tuple[bool | None, int]:
    """How a load ends whose responses are damaged by chance, and after how many."""
    checked = 0

    def damaged() -> Iterator[bool]:
        nonlocal checked
        while True:
            checked += 1
            yield chance.random() < share

    return sweep.loses(level, islice(damaged(), sweep.most)), checked


if __name__ == "__main__":
    main()
