"""The matrix in one sentence."""

from collections.abc import Collection, Sequence, Set

from inspector.capture.capture import Endpoint
from inspector.matrix.results import MatrixRun, ScriptOutcome
from inspector.matrix.scripts import Script
from inspector.matrix.servers import SERVERS


def column_label(run: MatrixRun) -> str:
    """The release of a run, and its front end where that is not vLLM's in Python."""
    if run.front_end in SERVERS:
        return release_name(run)
    return run.version if run.front_end == "python" else f"{run.version} {run.front_end.title()}"


def release_name(run: MatrixRun) -> str:
    """The server of a run with its release."""
    server = SERVERS.get(run.front_end)
    return f"vLLM {column_label(run)}" if server is None else f"{server.label} {run.version}"


def matrix_headline(
    runs: Sequence[MatrixRun],
    scripts: Sequence[Script],
    endpoint: Endpoint,
    *,
    filtered: Collection[str] | None = None,
) -> str:
    """What the matrix says about one endpoint: the release that delivers most, and what it hides.

    `filtered` are the scripts that a filter leaves; None where all are shown.
    """
    well_formed = {script.name for script in scripts if script.well_formed}
    counted = [
        (
            run,
            [
                (key[1], score.outcome)
                for key, score in run.scores.items()
                if key[0] is endpoint and (filtered is None or key[1] in filtered)
            ],
        )
        for run in runs
    ]
    counted = [(run, outcomes) for run, outcomes in counted if outcomes]
    of = "" if filtered is None else "Of the scripts shown, "
    if len({run.front_end for run, _ in counted}) > 1:
        comparable = _comparable(runs, endpoint)
        all_scripts = {script for _, outcomes in counted for script, _ in outcomes}
        counted = [(run, [row for row in outcomes if row[0] in comparable]) for run, outcomes in counted]
        counted = [(run, outcomes) for run, outcomes in counted if outcomes]
        if all_scripts - comparable:
            count = len(all_scripts & comparable)
            of = f"Of the {count} scripts with the same tokens on every server, "
    if not counted:
        return "Nothing was recorded for this selection."
    if any(run.client for run in runs):
        return _client_headline(
            [(run, [outcome for _, outcome in outcomes]) for run, outcomes in counted], filtered=filtered
        )
    # Newest first, so that it wins among equals.
    best, outcomes = max(
        reversed(counted),
        key=lambda candidate: sum(outcome is ScriptOutcome.COMPLETE for _, outcome in candidate[1]),
    )
    name = f"{of}{release_name(best)}"
    what = "streams" if best.streamed else "responses"
    if all(outcome is ScriptOutcome.COMPLETE for _, outcome in outcomes):
        delivered = f"all {len(outcomes)} {what}" if len(outcomes) > 1 else f"the only {what[:-1]}"
        return f"{name} delivers {delivered} completely."
    fine = [outcome for script, outcome in outcomes if script in well_formed]
    broken = [outcome for script, outcome in outcomes if script not in well_formed]
    silent = broken.count(ScriptOutcome.SILENT)
    sentence = f"{name} has the best result"
    if fine:
        sentence += (
            f": it delivers {fine.count(ScriptOutcome.COMPLETE)} of {len(fine)} well-formed {what} completely"
        )
    if not broken:
        return f"{sentence}."
    lost = (
        f"It silently loses text of {silent} of the {len(broken)} malformed {what}."
        if silent
        else f"It loses no text silently in the {len(broken)} malformed {what}."
    )
    return f"{sentence}. {lost}"


def _comparable(runs: Sequence[MatrixRun], endpoint: Endpoint) -> Set[str]:
    """The scripts whose tokens every server had: some cannot run all, or choose other tokens."""
    asked = [
        {script for (place, script), score in run.scores.items() if place is endpoint and not score.sampler}
        for run in runs
    ]
    return frozenset.intersection(*map(frozenset, filter(None, asked)))


def _client_headline(
    counted: Sequence[tuple[MatrixRun, Sequence[ScriptOutcome]]], *, filtered: Collection[str] | None
) -> str:
    """What a client reads of the newest release, and of the last release where it reads less."""
    unread = [(run, outcomes.count(ScriptOutcome.SILENT), len(outcomes)) for run, outcomes in counted]
    newest, missed, size = unread[-1]
    where = f"of {release_name(newest)}{'' if filtered is None else ', of the scripts shown'}"
    reads = f"{newest.client} does not read {missed} of {size} responses {where}."
    if not missed:
        reads = f"{newest.client} reads all {size} responses {where}."
    worse = next(((run, misses) for run, misses, _ in reversed(unread) if misses > missed), None)
    return reads if worse is None else f"{reads} Of {column_label(worse[0])} it does not read {worse[1]}."
