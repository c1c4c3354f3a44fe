"""Results of the lab as rows and lines: what `--json` and the terminal show."""

from collections.abc import Sequence
from typing import Any

from inspector.analysis.audit import KINDS, explain
from inspector.capture.capture import Endpoint
from inspector.capture.formats import count
from inspector.lab.bisect import Change
from inspector.lab.changes import change_sentence as shift_sentence
from inspector.lab.changes import neighbours, shifts, twins
from inspector.lab.derender import Derendered
from inspector.lab.results import Run, one_each
from inspector.lab.score import Outcome
from inspector.lab.scripts import ENDPOINTS, Script
from inspector.lab.shrink import Shrunk
from inspector.protocol.harmony.text import text_of
from inspector.views.rows import audit_row, finding_row


def score_rows(run: Run) -> list[dict[str, Any]]:
    """One row per cell of the matrix."""
    return [
        {
            "package": run.package,
            "version": run.version,
            "stream_interval": run.stream_interval,
            "steps": run.step,
            "front_end": run.front_end,
            "engine": run.engine,
            "endpoint": endpoint.value,
            "script": script,
            "outcome": score.outcome.value,
            "kinds": list(score.kinds),
            "differences": list(score.differences),
        }
        for (endpoint, script), score in sorted(run.scores.items())
    ]


def summary(runs: Sequence[Run]) -> list[str]:
    """Counts of outcomes, one line per release, interval and endpoint."""
    several = len({(run.front_end, run.engine) for run in runs}) > 1
    head = f"{'release':10}{'front end':20}" if several else f"{'release':10}"
    head += f"{'tokens/step':>11}  {'endpoint':12}"
    lines = [head + "".join(f"{outcome.words:>16}" for outcome in Outcome)]
    for run in runs:
        for endpoint in ENDPOINTS:
            seen = [score.outcome for key, score in run.scores.items() if key[0] is endpoint]
            if seen:
                names = f"{f'{run.front_end}, {run.engine}':20}" if several else ""
                lines.append(
                    f"{run.version:10}{names}{run.step:>11}  {endpoint.value:12}"
                    + "".join(f"{seen.count(outcome):>16}" for outcome in Outcome)
                )
    return lines


def change_lines(runs: Sequence[Run], endpoints: Sequence[Endpoint]) -> list[str]:
    """What changed from each release to the next, a line for each endpoint and step."""
    lines: list[str] = []
    for older, newer in neighbours(one_each(runs)):
        for endpoint in endpoints:
            if found := shifts(older, newer, endpoint):
                steps = newer.step_words
                where = f"{newer.front_end}, {endpoint.value}, {steps}"
                lines.append(f"{where}: {shift_sentence(older, newer, found)}")
    return lines or ["No outcome changed between these releases."]


def twin_lines(runs: Sequence[Run], endpoints: Sequence[Endpoint]) -> list[str]:
    """Where a stream and the same request without `stream` have other outcomes, by release."""
    lines: list[str] = []
    for streamed, whole in twins(runs):
        for endpoint in endpoints:
            for one in shifts(streamed, whole, endpoint):
                names = ", ".join(one.scripts)
                outcomes = f"streamed {one.before.words}, not streamed {one.after.words}"
                lines.append(f"{whole.version} ({whole.front_end}), {endpoint.value}: {outcomes}: {names}")
    return lines or ["No stream differs from its twin that is not streamed."]


def change_row(change: Change) -> dict[str, Any]:
    """The result of a search."""
    return {
        "first": change.first.version,
        "last": change.last.version,
        "visits": [
            {
                "version": visit.version,
                "outcome": visit.score.outcome.value,
                "differences": list(visit.score.differences),
            }
            for visit in change.visits
        ],
    }


def change_sentence(change: Change, what: str) -> str:
    """The result of a search in one sentence."""
    first, last = change.first, change.last
    return (
        f"{first.version} is the first release with the outcome “{first.score.outcome.words}” for {what}; "
        f"{last.version} has “{last.score.outcome.words}”"
    )


def script_row(script: Script) -> dict[str, Any]:
    """One script, with its token ids."""
    return {
        "name": script.name,
        "sentence": script.sentence,
        "class": script.example_of.value,
        "well_formed": script.well_formed,
        "endpoints": [endpoint.value for endpoint in script.endpoints],
        "issues": list(script.issues),
        "tokens": [list(turn) for turn in script.turns],
    }


def shrunk_row(found: Shrunk, version: str, stream_interval: int) -> dict[str, Any]:
    """The shortest list that still fails."""
    return {
        "version": version,
        "stream_interval": stream_interval,
        "endpoint": found.capture.header.endpoint.value,
        "tokens": found.ids,
        "text": text_of(found.ids),
        "finding": finding_row(found.finding),
        "of_tokens": found.whole,
        "tries": found.tries,
        "minimal": found.minimal,
        "asked_again": found.asked,
        "failed_again": found.failed,
    }


def shrunk_lines(found: Shrunk, version: str, stream_interval: int) -> list[str]:
    """The same as text; the last line can be pasted into a request to `lab serve`."""
    step = count(stream_interval, "token")
    least = "no token can be removed" if found.minimal else "the search stopped early"
    return [
        f"{len(found.ids)} of {found.whole} tokens still fail on vLLM {version}, "
        f"{found.capture.header.endpoint.value}, {step} per step; {least}.",
        f"  {KINDS[found.finding.kind].label}: {explain(found.finding)}",
        f"  It failed in {found.failed} of {found.asked} repetitions; {found.tries} requests in all.",
        f"  {text_of(found.ids)}",
        f"  [[tokens {' '.join(map(str, found.ids))}]]",
    ]


def derendered_row(found: Derendered) -> dict[str, Any]:
    """The result as JSON; each answer has the keys of `audit --json`."""
    return {
        "server": found.label,
        "passed": found.passed,
        "sentence": found.sentence,
        "prompt": {
            "sentence": found.prompt_sentence,
            "served": None if found.told is None else len(found.told),
            "rendered": None if found.rendered is None else len(found.rendered),
            "identical": None
            if found.told is None or found.rendered is None
            else list(found.told) == list(found.rendered),
        },
        "served": audit_row("served", found.served),
        **dict.fromkeys(("streamed", "whole")),
        **{name: audit_row(name, one) for name, one in found.answers.items()},
        "refused": dict(found.refused),
    }


def derendered_lines(found: Derendered) -> list[str]:
    """The same as text."""
    by_way = {f"served by {found.served.reading.server_label}": found.served}
    by_way |= {f"{name} by {found.label}": one for name, one in found.answers.items()}
    width = max(map(len, by_way))
    return [
        found.sentence,
        f"  {found.prompt_sentence}",
        *(f"  {way:{width}}  {one.verdict.level}: {one.verdict.sentence}" for way, one in by_way.items()),
        *(f"  {name}: refused. {words}" for name, words in found.refused.items() if name != "render"),
    ]
