"""A change of vLLM against a base: which scripts it delivers worse, with a verdict for a pipeline.

Both sides are runs of the matrix on the stand-in engine, of the same front end and steps.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.capture.formats import count
from inspector.lab.results import Run
from inspector.lab.score import Outcome, Score
from inspector.lab.scripts import ENDPOINTS
from inspector.lab.standin.steps import UNSTREAMED

_ORDER: Final = (Outcome.SILENT, Outcome.TOLD, Outcome.WHOLE)
_SHOWN: Final = 40
"""Worse cells that the Markdown lists."""


@dataclass(frozen=True, slots=True)
class Worse:
    """One cell that the change delivers worse."""

    endpoint: Endpoint
    script: str
    step: str
    before: Score
    after: Score
    capture: str
    """The name under which its capture opens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A change against its base."""

    base: str
    change: str
    losing: int
    """Scripts of which the change loses text without an error, at any endpoint and step."""
    base_losing: int
    scripts: int
    worse: tuple[Worse, ...]
    better: int
    """Cells that it delivers better."""

    @property
    def passed(self) -> bool:
        """Whether no cell became worse."""
        return not self.worse


def gate(base: Sequence[Run], change: Sequence[Run]) -> Gate:
    """Compare the runs of both sides; raises LabError when they have no cell in common."""
    before = {(run.step, *key): score for run in base for key, score in run.scores.items()}
    names = {run.step: run.name for run in change}
    after = {(run.step, *key): score for run in change for key, score in run.scores.items()}
    shared = [key for key in after if key in before]
    if not shared:
        raise LabError(
            "base and change have no cell in common; record both with the same steps and endpoints"
        )
    worse = [
        Worse(endpoint, script, step, before[key], after[key], f"{names[step]}/{endpoint.value}-{script}")
        for key in shared
        for step, endpoint, script in [key]
        if _rank(after[key]) < _rank(before[key])
    ]
    return Gate(
        base=base[0].version,
        change=change[0].version,
        losing=_losing((key[2], after[key]) for key in shared),
        base_losing=_losing((key[2], before[key]) for key in shared),
        scripts=len({key[2] for key in shared}),
        worse=tuple(sorted(worse, key=lambda one: (ENDPOINTS.index(one.endpoint), one.script, one.step))),
        better=sum(_rank(after[key]) > _rank(before[key]) for key in shared),
    )


def gate_sentence(found: Gate) -> str:
    """The verdict."""
    return (
        f"{found.change} loses text of {found.losing} of {found.scripts} scripts without an error, "
        f"{found.base} of {found.base_losing}. {count(len(found.worse), 'result')} became worse, "
        f"{found.better} better."
    )


def gate_markdown(found: Gate) -> str:
    """The same for a pull request, with the scripts that became worse."""
    lines = [f"### Harmony streams: {found.change} against {found.base}", "", gate_sentence(found)]
    if found.worse:
        lines += ["", "| endpoint | script | tokens per step | before | after | what differs | capture |"]
        lines += ["|---|---|---|---|---|---|---|"]
    grouped = _grouped(found.worse)
    for some in grouped[:_SHOWN]:
        one = some[0]
        what = _cell(one.after.differences[0] if one.after.differences else "")
        lines.append(
            f"| {one.endpoint.value} | `{one.script}` | {_steps(some)} | {one.before.outcome.words} | "
            f"{one.after.outcome.words} | {what} | `{one.capture}` |"
        )
    if len(grouped) > _SHOWN:
        lines.append(f"\n… and {count(len(grouped) - _SHOWN, 'more row')}.")
    return "\n".join(lines)


def gate_lines(found: Gate) -> list[str]:
    """The verdict, and a line for each script that became worse."""
    return [
        gate_sentence(found),
        *(
            f"  {some[0].endpoint.value} {some[0].script}, {_conditions(some)}: "
            f"{some[0].before.outcome.words}, now {some[0].after.outcome.words} ({some[0].capture})"
            for some in _grouped(found.worse)
        ),
    ]


def gate_row(found: Gate) -> dict[str, Any]:
    """The result for `--json`."""
    return {
        "base": found.base,
        "change": found.change,
        "passed": found.passed,
        "scripts": found.scripts,
        "losing": found.losing,
        "base_losing": found.base_losing,
        "better": found.better,
        "worse": [
            {
                "endpoint": one.endpoint.value,
                "script": one.script,
                "steps": one.step,
                "before": one.before.outcome.value,
                "after": one.after.outcome.value,
                "differences": list(one.after.differences),
                "capture": one.capture,
            }
            for one in found.worse
        ],
    }


def _grouped(worse: Iterable[Worse]) -> list[list[Worse]]:
    """The cells of one script with the same outcomes together."""
    rows: dict[tuple[Endpoint, str, Outcome, Outcome], list[Worse]] = {}
    for one in worse:
        rows.setdefault((one.endpoint, one.script, one.before.outcome, one.after.outcome), []).append(one)
    return list(rows.values())


def _steps(some: Iterable[Worse]) -> str:
    return ", ".join("not streamed" if one.step == UNSTREAMED else one.step for one in some)


def _conditions(some: Sequence[Worse]) -> str:
    streamed = _steps(one for one in some if one.step != UNSTREAMED)
    words = [f"{streamed} per step"] if streamed else []
    return " and ".join([*words, *("not streamed" for one in some if one.step == UNSTREAMED)])


def _rank(score: Score) -> int:
    return _ORDER.index(score.outcome)


def _losing(cells: Iterable[tuple[str, Score]]) -> int:
    return len({script for script, score in cells if score.outcome is Outcome.SILENT})


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
