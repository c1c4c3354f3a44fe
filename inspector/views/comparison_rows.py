"""Flat rows of a comparison for tables, `compare --json` and the pages.

The keys of `comparison_row` are the command line's contract; scripts depend on them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from inspector.analysis.audit import Severity
from inspector.inspection.compare import ChoiceComparison, Comparison, FieldPair, Repeats
from inspector.inspection.inspection import Inspection
from inspector.views.rows import figure_row, finding_row, finding_words

_TIMINGS = (
    ("first token", "first_token_s", "s"),
    ("last token", "last_token_s", "s"),
    ("tokens per second", "tokens_per_s", "1/s"),
    ("gap, median", "gap_p50_s", "s"),
    ("gap, 95th percentile", "gap_p95_s", "s"),
    ("gap, longest", "gap_max_s", "s"),
    ("tokens", "tokens", ""),
    ("events with tokens", "events_with_tokens", ""),
    ("tokens per event, mean", "tokens_per_event_mean", ""),
    ("tokens per event, max", "tokens_per_event_max", ""),
)


def comparison_row(comparison: Comparison) -> dict[str, Any]:
    """What `compare --json` prints for two captures; counts are None where token IDs are unknown."""
    counts, place = comparison.counts, comparison.divergence
    findings = comparison.findings
    return {
        "left": comparison.left.name,
        "right": comparison.right.name,
        "outcome": str(comparison.outcome),
        "sentence": comparison.sentence,
        "why": comparison.why,
        "gateway": None
        if comparison.passing is None
        else {
            "outcome": comparison.passing.outcome.value,
            "words": comparison.passing.words,
            "joined_by": comparison.joined_by,
            "server_side": "left" if comparison.server_side is comparison.left else "right",
        },
        "tokens": {
            key: None if counts is None else getattr(counts, key)
            for key in ("equal", "only_left", "only_right", "replaced")
        },
        "first_divergence": None if place is None else {"token": place.token, "event": place.event},
        "generated": _fields(comparison, "generated"),
        "delivered": _fields(comparison, "delivered"),
        "delivered_apart": [
            {**apart._asdict(), "choice": choice.index}
            for choice in comparison.choices
            for apart in choice.apart
        ],
        "findings": {
            "only_left": [finding_row(finding) for finding in findings.only_left],
            "only_right": [finding_row(finding) for finding in findings.only_right],
            "both": [{**finding_row(left), "right": finding_row(right)} for left, right in findings.both],
        },
        "settings": [setting._asdict() for setting in comparison.settings],
        "prompt": _prompt(comparison),
        "timing": {
            "left": figure_row(comparison.timing[0]),
            "right": figure_row(comparison.timing[1]),
        },
    }


def comparison_summary(comparison: Comparison) -> dict[str, Any]:
    """One line of a list of captures against one reference."""
    counts, place = comparison.counts, comparison.divergence
    return {
        "capture": comparison.right.name,
        "version": comparison.right.reading.server_version,
        "outcome": str(comparison.outcome),
        "sentence": comparison.sentence,
        "tokens_equal": None if counts is None else counts.equal,
        "tokens_differing": None if counts is None else counts.differing,
        "first_divergence": None if place is None else place.token,
        "delivered_equal": comparison.same_delivered,
        "findings_gone": len(comparison.findings.only_left),
        "findings_new": len(comparison.findings.only_right),
        "findings_both": len(comparison.findings.both),
    }


def difference_rows(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """One row per difference: tokens, delivery of equal tokens, findings of one side; in token order."""
    for choice in comparison.choices:
        rows = [*_token_differences(choice), *_apart_rows(choice)]
        yield from sorted(rows, key=lambda row: (row["left_start"], row["right_start"]))
    for side, side_findings in (
        ("left", comparison.findings.only_left),
        ("right", comparison.findings.only_right),
    ):
        for finding in side_findings:
            yield {
                "what": f"finding only {side}",
                "choice": finding.choice,
                "left_start": finding.token_start if side == "left" else None,
                "left_end": finding.token_end if side == "left" else None,
                "right_start": finding.token_start if side == "right" else None,
                "right_end": finding.token_end if side == "right" else None,
                **{key: value for key, value in finding_words(finding).items() if key == "line"},
            }


def timing_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Metrics of both sides: name, unit, left, right; None where a capture has no times."""
    left, right = comparison.timing
    return [
        {"figure": name, "unit": unit, "left": getattr(left, key), "right": getattr(right, key)}
        for name, key, unit in _TIMINGS
    ]


def repeats_row(
    repeats: Repeats, left: Sequence[Inspection] = (), right: Sequence[Inspection] = ()
) -> dict[str, Any]:
    """What `compare --json` prints for runs of two sides."""
    counts = {**asdict(repeats), "more_than_chance": repeats.more_than_chance}
    return {**counts, "runs": run_rows(left, right)}


def run_rows(left: Sequence[Inspection], right: Sequence[Inspection]) -> list[dict[str, Any]]:
    """One row per run of two sides; `result` is the verdict's level, `run` counts from 1 on each side."""
    return [
        {
            "side": side,
            "run": number,
            "result": str(inspection.verdict.level),
            "errors": sum(finding.severity is Severity.ERROR for finding in inspection.findings),
            "says": inspection.verdict.sentence,
            "version": inspection.reading.server_version,
            "capture": inspection.name,
        }
        for side, group in (("left", left), ("right", right))
        for number, inspection in enumerate(group, 1)
    ]


def _fields(comparison: Comparison, side: str) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for choice in comparison.choices:
        pairs: tuple[FieldPair, ...] = getattr(choice, side)
        prefix = f"choices[{choice.index}]." if len(comparison.choices) > 1 and choice.index else ""
        for pair in pairs:
            rows[prefix + pair.field] = {"equal": pair.equal, "left": pair.left, "right": pair.right}
    return rows


def _prompt(comparison: Comparison) -> dict[str, Any] | None:
    first = comparison.prompt
    return None if first is None else {**asdict(first), "sentence": first.sentence}


def _token_differences(choice: ChoiceComparison) -> Iterator[dict[str, Any]]:
    for stretch in choice.tokens.stretches if choice.tokens is not None else ():
        if stretch.lane != "same":
            yield {
                "what": str(stretch.lane),
                "choice": choice.index,
                "left_start": stretch.left_start,
                "left_end": stretch.left_end,
                "right_start": stretch.right_start,
                "right_end": stretch.right_end,
                "line": "",
            }


def _apart_rows(choice: ChoiceComparison) -> Iterator[dict[str, Any]]:
    for apart in choice.apart:
        size = apart.end - apart.start
        yield {
            "what": "delivered differently",
            "choice": choice.index,
            "left_start": apart.start,
            "left_end": apart.end,
            "right_start": apart.right_start,
            "right_end": apart.right_start + size,
            "line": f"left: {_delivery(apart.left_field, apart.left_state)}; "
            f"right: {_delivery(apart.right_field, apart.right_state)}",
        }


def _delivery(field: str | None, state: str) -> str:
    if field is None:
        return state or "not delivered"
    return field if state == "ok" else f"{field} ({state})"
