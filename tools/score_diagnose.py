"""What `diagnose` answers to texts whose right answer is known: `python -m tools.score_diagnose FILE...`.

A file is a YAML list of posts with `kind`, `text`, the right `answer` and what else is `also_ok`: the id of
a known issue, `routed:NAME`, `unknown` (the failing line is shown, no entry is named) or `nothing`. Prints
numbers by kind, no text. Texts that rules were written from say nothing about others.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from inspector.issues import Diagnosis, DiagnosisOutcome, RouteKind
from inspector.issues.texts.diagnose import diagnose_text


@dataclass(slots=True)
class KindScore:
    """Posts of one kind."""

    posts: int = 0
    right: int = 0
    wrong: int = 0
    """Another entry or another route named than a right one."""
    closest: int = 0
    """Nothing named, and a right entry among the closest."""
    false_alarms: int = 0
    """An entry or a route named where the right answer is `nothing`."""


_HEADS: Final = ("posts", "right", "named wrong", "in closest", "false alarms")


def answer_code(diagnosis: Diagnosis) -> str:
    """The first answer as the right ones are written."""
    match diagnosis.outcome:
        case DiagnosisOutcome.KNOWN:
            return diagnosis.answers[0].issue.id
        case DiagnosisOutcome.ROUTED if diagnosis.route is not None:
            startup = diagnosis.route.kind is RouteKind.STARTUP
            return f"routed:{'startup' if startup else diagnosis.route.id.replace('llama-cpp', 'llama.cpp')}"
        case outcome:
            return str(outcome)


def is_right(post: Mapping[str, Any], diagnosis: Diagnosis) -> bool:
    """Whether the first answer is one of the right ones."""
    code = answer_code(diagnosis)
    # An error of another program may be shown as unknown; a healthy log has nothing to show.
    if post["answer"] == "nothing" and post["kind"] != "healthy" and code == "unknown":
        return True
    return code in _right(post)


def _right(post: Mapping[str, Any]) -> set[str]:
    return {str(answer).removeprefix("new:") for answer in (post["answer"], *post.get("also_ok", ()))}


def score(posts: Iterable[Mapping[str, Any]]) -> dict[str, KindScore]:
    """Scores by kind of post."""
    scores: dict[str, KindScore] = {}
    for post in posts:
        diagnosis = diagnose_text(post["text"])
        kind = scores.setdefault(post["kind"], KindScore())
        kind.posts += 1
        named = bool(diagnosis.answers or diagnosis.route)
        if is_right(post, diagnosis):
            kind.right += 1
        elif not named:
            kind.closest += not _right(post).isdisjoint(issue.id for issue in diagnosis.closest)
        elif post["answer"] == "nothing":
            kind.false_alarms += 1
        else:
            kind.wrong += 1
    return scores


def table(scores: Mapping[str, KindScore]) -> str:
    """One row per kind, and the sums."""
    rows = [(kind, astuple(numbers)) for kind, numbers in sorted(scores.items())]
    rows.append(("all", tuple(map(sum, zip(*(numbers for _, numbers in rows), strict=True)))))
    lines = [("kind", *_HEADS), *((kind, *map(str, numbers)) for kind, numbers in rows)]
    return "".join(f"{line[0]:<14}{''.join(f'{cell:>14}' for cell in line[1:])}\n" for line in lines)


def main(files: Sequence[str]) -> None:
    """Print the table of all posts."""
    posts = [post for file in files for post in msgspec.yaml.decode(Path(file).read_text(encoding="utf-8"))]
    sys.stdout.write(table(score(posts)))


if __name__ == "__main__":
    main(sys.argv[1:])
