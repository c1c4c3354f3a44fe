"""How often the tokens of Responses, reconstructed from the final object, are those that were sampled.

python -m bench.responses             the counts, over fixtures/matrix
python -m bench.responses --list      and every script that is not exact, with its releases
"""

import argparse
from collections import Counter, defaultdict

from inspector.files.store import FIXTURES
from inspector.lab.reconstructions import Grade, Measured, Told, matrix_reconstructions


def main() -> None:
    """Print the counts, and the scripts where asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="scripts by grade, those that are exact left out")
    chosen = parser.parse_args()
    for told in Told:
        found = list(matrix_reconstructions(FIXTURES / "matrix", told))
        print(f"reconstructed from {told}\n")
        print(f"{'':<48}{'healthy':>10}{'malformed':>11}{'lost text':>11}{'failed':>8}{'all':>7}")
        counts = Counter((one.grade, _class(one)) for one in found)
        for grade in Grade:
            row = [counts[grade, kind] for kind in ("healthy", "malformed", "silent", "told")]
            print(f"{grade:<48}{row[0]:>10}{row[1]:>11}{row[2]:>11}{row[3]:>8}{sum(row):>7}")
        print()
        if chosen.list:
            _list(found)


def _class(one: Measured) -> str:
    if one.outcome != "whole":
        return str(one.outcome)
    return "healthy" if one.script.well_formed else "malformed"


def _list(found: list[Measured]) -> None:
    groups: dict[tuple[Grade, str, str, int], list[str]] = defaultdict(list)
    for one in found:
        if one.grade not in {Grade.EXACT, Grade.NO_FINAL}:
            key = one.grade, _class(one), one.script.name, one.missing
            groups[key].append(one.run.name.removeprefix("vllm-cpu-"))
    for (grade, kind, script, missing), runs in sorted(groups.items()):
        print(f"{grade}; {kind}: {script} ({missing:+} tokens): {' '.join(runs)}")
    print()


if __name__ == "__main__":
    main()
