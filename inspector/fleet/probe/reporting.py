"""A probe in words and as a row: what the command prints, and what the page draws as tables."""

from collections.abc import Sequence
from typing import Any

from inspector.analysis.audit.kinds import kind_label
from inspector.capture.formats import count, duration, fine_duration, number
from inspector.fleet.probe.judging import Result, Row
from inspector.fleet.probe.loads import Progress
from inspector.fleet.probe.rates import Rate, percent
from inspector.fleet.probe.running import Probe
from inspector.fleet.probe.summary import (
    FIRST_TOKEN,
    WHOLE_RESPONSE,
    Group,
    Summary,
    Times,
    failure_words,
    summary,
)

_SHOWN = 12


def summary_of(probe: Probe) -> Summary:
    """What the rows of a probe come to so far."""
    if probe.sweep is None:
        return summary(probe.rows)
    return summary(probe.rows, swept=True, threshold=probe.sweep.threshold)


def probe_lines(probe: Probe) -> list[str]:
    """The result as lines: the sentence first, then tables."""
    found = summary_of(probe)
    lines = [found.sentence, *(f"  {note}" for note in (*found.notes, *probe_endings(probe)))]
    asked = ", ".join(
        f"{side.name + ': ' if side.name else ''}{side.label} ({side.model})" for side in probe.sides
    )
    lines += [f"  {asked}", ""]
    groups = [*found.sides, *found.by_endpoint]
    lines += _table("", [found.total, *(groups if len(groups) > 1 else [])])
    if len(found.by_load) > 1:
        lines += ["", *_table("streams at once", found.by_load)]
    if len(found.by_tokens_per_event) > 1:
        lines += ["", *_table("tokens per event", found.by_tokens_per_event)]
    if found.times:
        lines += ["", *_aligned([("", "p50", "p90", "p99"), *(time_cells(one) for one in found.times)])]
    if found.kinds:
        listed = ", ".join(f"{kind_label(kind)} ({number(amount)})" for kind, amount in found.kinds)
        lines += ["", f"findings, by streams that have one: {listed}"]
    lines += [f"cause: {title} ({key}), {count(amount, 'stream')}" for key, title, amount in found.causes]
    lines += [f"failed: {failure_words(failure)}" for failure in found.failures[:3]]
    return [*lines, *_captures(probe)]


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
    lines += [f"  {row.capture}: {row.judged.sentence}" for row in kept[:3]]
    if len(kept) > 3:
        lines.append(f"  and {count(len(kept) - 3, 'more capture')}")
    return lines


def worst_rows(rows: Sequence[Row]) -> list[Row]:
    """Requests that did not go well: the damaged first, then failed and unknown ones, each in order."""
    order = [Result.DAMAGED, Result.FAILED, Result.UNKNOWN]
    bad = [row for row in rows if row.result is not Result.OK]
    return sorted(bad, key=lambda row: (order.index(row.result), row.started_s))


def rate_words(found: Rate) -> str:
    """A rate in a cell of a table."""
    if found.share is None:
        return "unknown"
    return f"{percent(found.share)} ({percent(found.low)}-{percent(found.high)})"


def group_cells(group: Group) -> tuple[str, ...]:
    """A group as cells: name, requests, the four results, rate of damaged and of failed ones."""
    counts = (group.requests, group.ok, group.failed, group.damaged, group.unknown)
    return (group.name, *(number(one) for one in counts), rate_words(group.loss), rate_words(group.failure))


_HEAD = ("requests", "ok", "failed", "damaged", "unknown", "damaged rate (95%)", "failed rate (95%)")


def _table(name: str, groups: Sequence[Group]) -> list[str]:
    return _aligned([(name, *_HEAD), *(group_cells(group) for group in groups)])


def time_name(times: Times) -> str:
    """What a time is called in a table or plot."""
    if times.what == "gap":
        return f"gap, {times.name}"
    return times.name if times.name in {FIRST_TOKEN, WHOLE_RESPONSE} else f"first token, {times.name}"


def time_cells(times: Times) -> tuple[str, ...]:
    """Percentiles as cells; `never` where so many requests had no token at all."""
    return (time_name(times), *(fine_duration(one, "never") for one in (times.p50, times.p90, times.p99)))


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def progress_line(progress: Progress) -> str:
    """How far a run is, in one line."""
    total = "" if progress.total is None else f" of {number(progress.total)}"
    parts = [f"{number(progress.done)}{total} requests"]
    if progress.at_level is not None:
        done, most, fewer = progress.at_level
        least = "at most " if fewer else ""
        here = f"{count(progress.level, 'stream')} at once: {number(done)} of {least}{number(most)} requests"
        parts = [here, f"{number(progress.done)} in all"]
    if progress.per_s is not None:
        parts.append(f"{number(progress.per_s, 1)} per second")
    if progress.left_s is not None:
        parts.append(f"{_about(progress.left_s)} left")
    parts.append(f"{number(progress.damaged)} damaged, {number(progress.failed)} failed")
    if progress.waited_s:
        parts.append(f"waited {_about(progress.waited_s)} as the server asked")
    return " · ".join(parts)


def _about(seconds: float) -> str:
    """A time that need not be exact: whole seconds, then minutes."""
    return f"{seconds:.0f} s" if seconds < 600 else duration(seconds)


def probe_row(probe: Probe) -> dict[str, Any]:
    """The result for `--json`."""
    found = summary_of(probe)
    progress = probe.progress()
    return {
        "sentence": found.sentence,
        "notes": [*found.notes, *probe_endings(probe)],
        "servers": [
            {"side": side.name, "url": side.server.v1, "model": side.model, "version": side.version}
            for side in probe.sides
        ],
        "load": {
            "concurrency": probe.load.concurrency,
            "rate_per_s": probe.load.rate,
            "sweep": None
            if probe.sweep is None
            else {"limit": probe.sweep.limit, "smallest_rate": probe.sweep.smallest},
        },
        "stopped": probe.stopped,
        "seconds": round(progress.elapsed_s, 3),
        "waited_s": round(progress.waited_s, 3),
        "total": _group_row(found.total),
        "control": None if found.control is None else _group_row(found.control),
        "by_side": [_group_row(one) for one in found.sides],
        "by_endpoint": [_group_row(one) for one in found.by_endpoint],
        "by_concurrency": [_group_row(one) for one in found.by_load],
        "by_tokens_per_event": [_group_row(one) for one in found.by_tokens_per_event],
        "kinds": dict(found.kinds),
        "causes": [{"id": key, "title": title, "streams": amount} for key, title, amount in found.causes],
        "failures": [
            {"kind": kind, "requests": amount, "example": sentence}
            for kind, amount, sentence in found.failures
        ],
        "times": [
            {"name": one.name, "what": one.what, "p50_s": one.p50, "p90_s": one.p90, "p99_s": one.p99}
            for one in found.times
        ],
        "sweep": None if probe.sweep is None else _sweep_row(found),
        "against": None
        if found.against is None
        else {"p_value": found.against.p_value, "significant": found.against.significant},
        "folder": None if probe.shelf is None else str(probe.shelf.folder),
        "not_ok": [
            {
                "request": row.number + 1,
                "side": row.side,
                "endpoint": row.endpoint.value,
                "prompt": row.prompt,
                "result": row.result.value,
                "sentence": row.judged.sentence,
                "kinds": list(row.judged.kinds),
                "capture": row.capture or None,
            }
            for row in worst_rows(probe.rows)[:1000]
        ],
    }


def _group_row(group: Group) -> dict[str, Any]:
    return {
        "name": group.name,
        "requests": group.requests,
        "ok": group.ok,
        "failed": group.failed,
        "damaged": group.damaged,
        "unknown": group.unknown,
        "damaged_rate": _rate_row(group.loss),
        "failed_rate": _rate_row(group.failure),
    }


def _rate_row(found: Rate) -> dict[str, Any]:
    return {
        "count": found.count,
        "of": found.of,
        "rate": found.share,
        "low": found.low,
        "high": found.high,
    }


def _sweep_row(found: Summary) -> dict[str, Any]:
    return {
        "smallest_losing": None if found.smallest_losing is None else int(found.smallest_losing.name),
        "largest_clean": None if found.largest_clean is None else int(found.largest_clean.name),
    }
