"""How often tokens that are reconstructed from the final object of Responses are the sampled ones.

python -m bench.responses             the counts, over fixtures/matrix
python -m bench.responses --list      and every script that is not exact, with its releases
"""

import argparse
from collections import Counter, defaultdict

from inspector.files.store import FIXTURES
from inspector.matrix.results import ScriptOutcome
from tools.reconstruction_rates import Grade, GradedReconstruction, MessageSource, matrix_reconstructions


def main() -> None:
    """Print the counts, and the scripts with --list."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="scripts by grade, those that are exact left out")
    arguments = parser.parse_args()
    for source in MessageSource:
        reconstructions = list(matrix_reconstructions(FIXTURES / "matrix", source))
        print(f"reconstructed from {source}\n")
        print(f"{'':<48}{'healthy':>10}{'malformed':>11}{'lost text':>11}{'failed':>8}{'all':>7}")
        counts = Counter((graded.grade, _class(graded)) for graded in reconstructions)
        for grade in Grade:
            row = [counts[grade, kind] for kind in ("healthy", "malformed", "silent", "told")]
            print(f"{grade:<48}{row[0]:>10}{row[1]:>11}{row[2]:>11}{row[3]:>8}{sum(row):>7}")
        print()
        if arguments.list:
            _list(reconstructions)


def _class(graded: GradedReconstruction) -> str:
    if graded.outcome is not ScriptOutcome.COMPLETE:
        return str(graded.outcome)
    return "healthy" if graded.script.well_formed else "malformed"


def _list(reconstructions: list[GradedReconstruction]) -> None:
    groups: dict[tuple[Grade, str, str, int], list[str]] = defaultdict(list)
    for graded in reconstructions:
        if graded.grade not in {Grade.EXACT, Grade.NO_FINAL}:
            key = graded.grade, _class(graded), graded.script.name, graded.missing
            groups[key].append(graded.run.name.removeprefix("vllm-cpu-"))
    for (grade, kind, script, missing), runs in sorted(groups.items()):
        print(f"{grade}; {kind}: {script} ({missing:+} tokens): {' '.join(runs)}")
    print()


if __name__ == "__main__":
    main()
