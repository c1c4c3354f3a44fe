"""A probe as lines, table cells and JSON, for the command and the page."""

from collections.abc import Sequence
from typing import Any

from inspector.analysis.audit.kinds import kind_label
from inspector.capture.formats import count, fine_duration, number, rounded_duration
from inspector.fleet.probe.loads import ProbeProgress, at_once
from inspector.fleet.probe.rates import Proportion, percent
from inspector.fleet.probe.rows import ProbeRow, Result
from inspector.fleet.probe.runner import Probe
from inspector.fleet.probe.summary import (
    FIRST_TOKEN,
    WHOLE_RESPONSE,
    ProbeSummary,
    RequestGroup,
    Times,
    failure_words,
    summary,
)
from inspector.views.summary import fix_words

_SHOWN = 12


def summary_of(probe: Probe) -> ProbeSummary:
    """Summary of the rows so far."""
    return summary(probe.rows, probe.sweep)


def probe_lines(probe: Probe) -> list[str]:
    """The result as lines: the sentence first, then tables."""
    totals = summary_of(probe)
    lines = [totals.sentence, *(f"  {note}" for note in (*totals.notes, *probe_endings(probe)))]
    servers = ", ".join(
        f"{target.name + ': ' if target.name else ''}{target.label} ({target.model})"
        for target in probe.targets
    )
    lines += [f"  {servers}", ""]
    lines += _table("", [*(totals.sides or [totals.total]), *_several(totals.by_endpoint)])
    for name, groups in (
        ("streams at once", totals.by_load),
        ("tokens per event", totals.by_tokens_per_event),
    ):
        if several := _several(groups):
            lines += ["", *_table(name, several)]
    if totals.times:
        lines += ["", *_aligned([("", "p50", "p90", "p99"), *(time_cells(times) for times in totals.times)])]
    if totals.kinds:
        listed = ", ".join(f"{kind_label(kind)} ({number(amount)})" for kind, amount in totals.kinds)
        lines += ["", f"findings, by streams that have one: {listed}"]
    for cause in totals.causes:
        lines.append(f"cause: {cause.title} ({cause.id}), {count(cause.streams, 'stream')}")
        lines += [f"  fix: {fix_words(cause.fixes)}"] if cause.fixes else []
    lines += [f"failed: {failure_words(failure)}" for failure in totals.failures[:3]]
    return [*lines, *_captures(probe)]


def _several(groups: Sequence[RequestGroup]) -> Sequence[RequestGroup]:
    """Groups that say more than all requests together."""
    return groups if len({group.name for group in groups}) > 1 else ()


def probe_endings(probe: Probe) -> list[str]:
    """Sentences on how it ended, where it was not by its budget."""
    ended = []
    if probe.stopped:
        ended.append("Stopped by you; requests in flight were dropped and are not counted.")
    if probe.trouble:
        ended.append(f"Ended early: {probe.trouble}.")
    return [*ended, *probe.notes]


def _captures(probe: Probe) -> list[str]:
    if probe.shelf is None:
        return []
    kept = [row for row in worst_rows(probe.rows) if row.capture]
    lines = ["", f"rows and captures: {probe.shelf.folder}"] if probe.rows else []
    lines += [f"  {probe.shelf.folder / row.capture}: {row.response.sentence}" for row in kept[:3]]
    if len(kept) > 3:
        lines.append(f"  and {count(len(kept) - 3, 'more capture')}")
    return lines


def worst_rows(rows: Sequence[ProbeRow]) -> list[ProbeRow]:
    """Requests that are not ok: damaged first, then failed, then unknown, each in order."""
    order = [Result.DAMAGED, Result.FAILED, Result.UNKNOWN]
    bad = [row for row in rows if row.result is not Result.OK]
    return sorted(bad, key=lambda row: (order.index(row.result), row.started_s))


def rate_words(rate: Proportion) -> str:
    """A rate in a cell of a table."""
    if rate.share is None:
        return "unknown"
    return f"{percent(rate.share)} ({percent(rate.low)}-{percent(rate.high)})"


def group_cells(group: RequestGroup) -> tuple[str, ...]:
    """A group as cells: name, requests, the four results, rate of damaged and of failed ones."""
    counts = (group.requests, group.ok, group.failed, group.damaged, group.unknown)
    return (
        group.label,
        *(number(amount) for amount in counts),
        rate_words(group.loss),
        rate_words(group.failure),
    )


_HEAD = ("requests", "ok", "failed", "damaged", "unknown", "damaged rate (95%)", "failed rate (95%)")


def _table(name: str, groups: Sequence[RequestGroup]) -> list[str]:
    return _aligned([(name, *_HEAD), *(group_cells(group) for group in groups)])


def time_name(times: Times) -> str:
    """What a time is called in a table or plot."""
    side = f"{times.side}: " if times.side else ""
    if times.what == "gap":
        return f"{side}gap, {times.name}"
    if times.name in {FIRST_TOKEN, WHOLE_RESPONSE}:
        return f"{side}{times.name}"
    return f"{side}first token, {times.name}"


def time_cells(times: Times) -> tuple[str, ...]:
    """Percentiles as cells; `never` for a percentile that falls on requests without any token."""
    return (
        time_name(times),
        *(fine_duration(seconds, "never") for seconds in (times.p50, times.p90, times.p99)),
    )


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def progress_line(progress: ProbeProgress) -> str:
    """The progress of a run in one line."""
    total = "" if progress.total is None else f" of {number(progress.total)}"
    parts = [f"{number(progress.done)}{total} requests"]
    if progress.at_level is not None:
        done, most, fewer = progress.at_level
        least = "at most " if fewer else ""
        at_level = f"{at_once(progress.level)}: {number(done)} of {least}{number(most)} requests"
        parts = [at_level, f"{number(progress.done)} in all"]
    if progress.per_s is not None:
        parts.append(f"{number(progress.per_s, 1)} per second")
    if progress.left_s is not None:
        parts.append(f"{rounded_duration(progress.left_s)} left")
    parts.append(f"{number(progress.damaged)} damaged, {number(progress.failed)} failed")
    if progress.waited_s:
        parts.append(f"waited {rounded_duration(progress.waited_s)} as the server asked")
    return " · ".join(parts)


def probe_row(probe: Probe) -> dict[str, Any]:
    """The result for `--json`."""
    totals = summary_of(probe)
    progress = probe.progress()
    return {
        "sentence": totals.sentence,
        "notes": [*totals.notes, *probe_endings(probe)],
        "servers": [
            {"side": target.name, "url": target.server.v1, "model": target.model, "version": target.version}
            for target in probe.targets
        ],
        "load": {
            "concurrency": probe.load.concurrency,
            "rate_per_s": probe.load.rate,
            "sweep": None
            if probe.sweep is None
            else {
                "limit": probe.sweep.limit,
                "smallest_rate": probe.sweep.smallest,
                "tolerated_rate": probe.sweep.tolerated,
            },
        },
        "stopped": probe.stopped,
        "seconds": round(progress.elapsed_s, 3),
        "waited_s": round(progress.waited_s, 3),
        "total": _group_row(totals.total),
        "control": None if totals.control is None else _group_row(totals.control),
        "by_side": [_group_row(group) for group in totals.sides],
        "by_endpoint": [_group_row(group) for group in totals.by_endpoint],
        "by_concurrency": [_group_row(group) for group in totals.by_load],
        "by_tokens_per_event": [_group_row(group) for group in totals.by_tokens_per_event],
        "kinds": dict(totals.kinds),
        "causes": [
            {
                "id": cause.id,
                "title": cause.title,
                "streams": cause.streams,
                "fixes": [{"text": fix.words, "url": fix.url} for fix in cause.fixes],
            }
            for cause in totals.causes
        ],
        "failures": [
            {"kind": kind, "requests": amount, "example": sentence}
            for kind, amount, sentence in totals.failures
        ],
        "times": [
            {
                "name": times.name,
                "what": times.what,
                "side": times.side,
                "p50_s": times.p50,
                "p90_s": times.p90,
                "p99_s": times.p99,
            }
            for times in totals.times
        ],
        "sweep": None if probe.sweep is None else _sweep_row(totals),
        "against": None
        if totals.against is None
        else {
            "p_value": totals.against.p_value,
            "paired_p_value": totals.against.paired_p_value,
            "pairs": totals.against.pairs,
            "only_a": totals.against.only_a,
            "only_b": totals.against.only_b,
            "significant": totals.against.significant,
        },
        "folder": None if probe.shelf is None else str(probe.shelf.folder),
        "not_ok": [
            {
                "request": row.number + 1,
                "side": row.side,
                "endpoint": row.endpoint.value,
                "prompt": row.prompt,
                "result": row.result.value,
                "sentence": row.response.sentence,
                "kinds": list(row.response.kinds),
                "capture": row.capture or None,
            }
            for row in worst_rows(probe.rows)[:1000]
        ],
    }


def _group_row(group: RequestGroup) -> dict[str, Any]:
    return {
        "name": group.name,
        "side": group.side,
        "requests": group.requests,
        "ok": group.ok,
        "failed": group.failed,
        "damaged": group.damaged,
        "unknown": group.unknown,
        "damaged_rate": _rate_row(group.loss),
        "failed_rate": _rate_row(group.failure),
    }


def _rate_row(rate: Proportion) -> dict[str, Any]:
    return {
        "count": rate.count,
        "of": rate.of,
        "rate": rate.share,
        "low": rate.low,
        "high": rate.high,
    }


def _sweep_row(totals: ProbeSummary) -> dict[str, Any]:
    return {
        "smallest_losing": None if totals.smallest_losing is None else int(totals.smallest_losing.name),
        "largest_clean": None if totals.largest_clean is None else int(totals.largest_clean.name),
        "undecided": [int(group.name) for group in totals.undecided],
    }
