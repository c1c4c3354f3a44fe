"""Compare a change of vLLM with a base: which scripts it delivers worse, as a verdict for CI.

Both sides are runs of the matrix on the stand-in engine, of the same front end and steps.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.capture.formats import count
from inspector.matrix.results import UNSTREAMED, MatrixRun, Score, ScriptOutcome
from inspector.matrix.scripts import ENDPOINTS

_ORDER: Final = (ScriptOutcome.SILENT, ScriptOutcome.REPORTED, ScriptOutcome.COMPLETE)
_MARKDOWN_ROWS: Final = 40
"""Rows of the Markdown table."""


@dataclass(frozen=True, slots=True)
class Regression:
    """A cell of the matrix with a worse outcome after the change."""

    endpoint: Endpoint
    script: str
    step: str
    before: Score
    after: Score
    capture: str
    """Name of its capture, as `results.named_capture` takes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """A change compared with its base."""

    base: str
    change: str
    losing: int
    """Scripts with silent loss after the change, on any endpoint and step."""
    base_losing: int
    scripts: int
    worse: tuple[Regression, ...]
    better: int
    """Cells with a better outcome after the change."""

    @property
    def passed(self) -> bool:
        """Whether no cell became worse."""
        return not self.worse


def gate(base: Sequence[MatrixRun], change: Sequence[MatrixRun]) -> GateResult:
    """Compare the runs of both; raises LabError if they have no cell in common."""
    before = {(run.step, *key): score for run in base for key, score in run.scores.items()}
    names = {run.step: run.name for run in change}
    after = {(run.step, *key): score for run in change for key, score in run.scores.items()}
    shared = [key for key in after if key in before]
    if not shared:
        raise LabError(
            "base and change have no cell in common; record both with the same steps and endpoints"
        )
    worse = [
        Regression(
            endpoint, script, step, before[key], after[key], f"{names[step]}/{endpoint.value}-{script}"
        )
        for key in shared
        for step, endpoint, script in [key]
        if _rank(after[key]) < _rank(before[key])
    ]
    return GateResult(
        base=base[0].version,
        change=change[0].version,
        losing=_losing((key[2], after[key]) for key in shared),
        base_losing=_losing((key[2], before[key]) for key in shared),
        scripts=len({key[2] for key in shared}),
        worse=tuple(
            sorted(
                worse,
                key=lambda regression: (
                    ENDPOINTS.index(regression.endpoint),
                    regression.script,
                    regression.step,
                ),
            )
        ),
        better=sum(_rank(after[key]) > _rank(before[key]) for key in shared),
    )


def gate_sentence(comparison: GateResult) -> str:
    """The verdict in a sentence."""
    return (
        f"{comparison.change} loses text of {comparison.losing} of {comparison.scripts} scripts without "
        f"an error, {comparison.base} of {comparison.base_losing}. "
        f"{count(len(comparison.worse), 'result')} became worse, {comparison.better} better."
    )


def gate_markdown(comparison: GateResult) -> str:
    """The verdict and the regressions as Markdown for a pull request."""
    lines = [
        f"### Harmony streams: {comparison.change} against {comparison.base}",
        "",
        gate_sentence(comparison),
    ]
    if comparison.worse:
        lines += ["", "| endpoint | script | tokens per step | before | after | what differs | capture |"]
        lines += ["|---|---|---|---|---|---|---|"]
    grouped = _grouped(comparison.worse)
    for regressions in grouped[:_MARKDOWN_ROWS]:
        first = regressions[0]
        what = _cell(first.after.differences[0] if first.after.differences else "")
        lines.append(
            f"| {first.endpoint.value} | `{first.script}` | {_steps(regressions)} | "
            f"{first.before.outcome.words} | {first.after.outcome.words} | {what} | `{first.capture}` |"
        )
    if len(grouped) > _MARKDOWN_ROWS:
        lines.append(f"\n… and {count(len(grouped) - _MARKDOWN_ROWS, 'more row')}.")
    return "\n".join(lines)


def gate_lines(comparison: GateResult) -> list[str]:
    """The verdict, and a line per script with a regression."""
    return [
        gate_sentence(comparison),
        *(
            f"  {first.endpoint.value} {first.script}, {_conditions([first, *more])}: "
            f"{first.before.outcome.words}, now {first.after.outcome.words} ({first.capture})"
            for first, *more in _grouped(comparison.worse)
        ),
    ]


def gate_row(comparison: GateResult) -> dict[str, Any]:
    """The result for `--json`."""
    return {
        "base": comparison.base,
        "change": comparison.change,
        "passed": comparison.passed,
        "scripts": comparison.scripts,
        "losing": comparison.losing,
        "base_losing": comparison.base_losing,
        "better": comparison.better,
        "worse": [
            {
                "endpoint": regression.endpoint.value,
                "script": regression.script,
                "steps": regression.step,
                "before": regression.before.outcome.value,
                "after": regression.after.outcome.value,
                "differences": list(regression.after.differences),
                "capture": regression.capture,
            }
            for regression in comparison.worse
        ],
    }


def _grouped(worse: Iterable[Regression]) -> list[list[Regression]]:
    """Regressions grouped by endpoint, script and outcomes."""
    rows: dict[tuple[Endpoint, str, ScriptOutcome, ScriptOutcome], list[Regression]] = {}
    for regression in worse:
        rows.setdefault(
            (regression.endpoint, regression.script, regression.before.outcome, regression.after.outcome), []
        ).append(regression)
    return list(rows.values())


def _steps(regressions: Iterable[Regression]) -> str:
    return ", ".join(
        "not streamed" if regression.step == UNSTREAMED else regression.step for regression in regressions
    )


def _conditions(regressions: Sequence[Regression]) -> str:
    streamed = _steps(regression for regression in regressions if regression.step != UNSTREAMED)
    words = [f"{streamed} per step"] if streamed else []
    return " and ".join(
        [*words, *("not streamed" for regression in regressions if regression.step == UNSTREAMED)]
    )


def _rank(score: Score) -> int:
    return _ORDER.index(score.outcome)


def _losing(cells: Iterable[tuple[str, Score]]) -> int:
    return len({script for script, score in cells if score.outcome is ScriptOutcome.SILENT})


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
