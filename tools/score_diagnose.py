"""How often the first answer of `diagnose` is right: `python -m tools.score_diagnose FILE...`.

A file is a YAML list of posts with `kind`, `text`, the right `answer` and what else is `also_ok`: the id of
a known issue, `routed:NAME`, `unknown` (the failing line is shown, no entry is named) or `nothing`. Prints
numbers by kind, no text.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from inspector.diagnosis import Diagnosis, DiagnosisOutcome, RouteKind, diagnose_text
from inspector.diagnosis.safe_yaml import read_yaml

__all__ = ["NO_FAULT", "Score", "answer_code", "is_right", "score", "table"]

NO_FAULT: Final = ("healthy", "foreign")
"""Kinds of post in which no known issue may be named."""


@dataclass(slots=True)
class Score:
    """Posts of one kind."""

    posts: int = 0
    right: int = 0
    false_alarms: int = 0
    """A known issue named, or a side called at fault, where the right answer is `nothing`."""


def answer_code(found: Diagnosis) -> str:
    """The first answer as the right ones are written."""
    match found.outcome:
        case DiagnosisOutcome.KNOWN | DiagnosisOutcome.SYMPTOM:
            return found.answers[0].issue.id
        case DiagnosisOutcome.ROUTED if found.route is not None:
            startup = found.route.kind is RouteKind.STARTUP
            return f"routed:{'startup' if startup else found.route.id.replace('llama-cpp', 'llama.cpp')}"
        case outcome:
            return str(outcome)


def is_right(post: Mapping[str, Any], found: Diagnosis) -> bool:
    """Whether the first answer is one of the right ones."""
    right = {str(one).removeprefix("new:") for one in (post["answer"], *post.get("also_ok", ()))}
    code = answer_code(found)
    # An error of another program may be shown as unknown; a healthy log has nothing to show.
    if post["answer"] == "nothing" and post["kind"] != "healthy" and code == "unknown":
        return True
    return code in right


def score(posts: Iterable[Mapping[str, Any]]) -> dict[str, Score]:
    """Scores by kind of post."""
    scores: dict[str, Score] = {}
    for post in posts:
        found = diagnose_text(post["text"])
        one = scores.setdefault(post["kind"], Score())
        one.posts += 1
        one.right += is_right(post, found)
        one.false_alarms += post["answer"] == "nothing" and bool(found.answers or found.sides or found.route)
    return scores


def table(scores: Mapping[str, Score]) -> str:
    """A row a kind, and the sums of what must be answered and of what must not."""
    real, quiet = Score(), Score()
    for kind, one in scores.items():
        total = quiet if kind in NO_FAULT else real
        total.posts += one.posts
        total.right += one.right
        total.false_alarms += one.false_alarms
    rows = [*sorted(scores.items()), ("real posts", real), ("no fault", quiet)]
    lines = [f"{'kind':<14} {'posts':>6} {'right':>6} {'rate':>7} {'false alarms':>13}"]
    for name, one in rows:
        rate = one.right / max(one.posts, 1)
        lines.append(f"{name:<14} {one.posts:>6} {one.right:>6} {rate:>7.1%} {one.false_alarms:>13}")
    return "\n".join(lines) + "\n"


def main(files: Sequence[str]) -> None:
    """Print the table of all posts."""
    posts = [post for file in files for post in read_yaml(Path(file).read_text(encoding="utf-8"))]
    sys.stdout.write(table(score(posts)))


if __name__ == "__main__":
    main(sys.argv[1:])
