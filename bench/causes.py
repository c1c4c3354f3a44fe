"""How often the first named cause is the right one of tools/causes.yaml: the matrix and fixtures/.

python -m bench.causes                          the counts of all modes
python -m bench.causes --differences FILE       and every disagreement, grouped, with examples
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from inspector.files.store import FIXTURES
from tools.cause_rates import Mode, NamedCauses, fixture_names, matrix_names, unstreamed_names
from tools.causes import NONE, load

BY: dict[str, Callable[[NamedCauses], str]] = {
    "first finding": lambda capture: capture.by_finding,
    "verdict": lambda capture: capture.by_verdict,
}


def main() -> None:
    """Print the counts, and write the disagreements with --differences."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--differences", type=Path, help="file for every disagreement, grouped")
    arguments = parser.parse_args()
    table = load()
    streams = [
        named
        for mode in Mode
        for names in (matrix_names(FIXTURES / "matrix", table, mode), fixture_names(FIXTURES, table, mode))
        for named in names
    ]
    unstreamed = [named for mode in Mode for named in unstreamed_names(FIXTURES / "matrix", table, mode)]
    print("first cause named, of captures whose verdict is a warning or an error: the table's, or right too")
    for title, captures in (("streams of real engines, and fixtures", streams), ("not streamed", unstreamed)):
        print(f"\n{title}")
        _counts(captures)
    if arguments.differences:
        lines = [*_differences(streams), *_differences(unstreamed)]
        arguments.differences.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _counts(captures: Sequence[NamedCauses]) -> None:
    print(f"{'mode':<22}{'by':<15}{'captures':>9}{'cause':>7}{'or also':>9}{'share':>8}")
    for mode in Mode:
        for by, named in BY.items():
            rows = [capture for capture in captures if capture.mode is mode and capture.right is not None]
            exact = sum(named(capture) == capture.right.cause for capture in rows if capture.right)
            agreeing = sum(_agrees(capture, named(capture)) for capture in rows)
            print(f"{mode:<22}{by:<15}{len(rows):>9}{exact:>7}{agreeing:>9}{agreeing / len(rows):>8.1%}")
    missing = sorted({capture.place for capture in captures if capture.right is None})
    print(f"captures without a line in the table: {len(missing)}", *missing[:20], sep="\n  ")


def _agrees(capture: NamedCauses, named: str) -> bool:
    return capture.right is not None and (
        named == capture.right.cause or named in capture.right.also - {NONE}
    )


def _differences(captures: Iterable[NamedCauses]) -> Iterable[str]:
    rows = [capture for capture in captures if capture.right is not None]
    for mode in Mode:
        for by, named in BY.items():
            groups: dict[tuple[str, str], list[NamedCauses]] = defaultdict(list)
            for capture in rows:
                if (
                    capture.mode is mode
                    and capture.right is not None
                    and not _agrees(capture, named(capture))
                ):
                    groups[capture.right.cause, named(capture)].append(capture)
            yield f"==== {mode}, by {by}: {sum(len(group) for group in groups.values())} disagreements"
            for (right, named_cause), group in sorted(groups.items(), key=lambda item: -len(item[1])):
                yield f"\n{len(group):>4}  right: {right}   named: {named_cause}"
                by_script: dict[str, list[NamedCauses]] = defaultdict(list)
                for capture in group:
                    by_script[capture.place.rpartition("/")[2]].append(capture)
                for script, captures_of_script in sorted(by_script.items()):
                    runs = " ".join(
                        capture.place.partition("/")[0].removeprefix("vllm-cpu-")
                        for capture in captures_of_script
                    )
                    yield f"      {script}: {runs}"
                yield f"      e.g. {group[0].sentence}"
            yield ""


if __name__ == "__main__":
    main()
