"""The matrix in one sentence, from the same counts as its cells."""

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from typing import Final, NamedTuple, assert_never

from inspector.capture.capture import Endpoint
from inspector.capture.formats import listed
from inspector.matrix.results import MatrixRun, Receiver, ScriptOutcome
from inspector.matrix.scripts import ScriptClass
from inspector.matrix.servers import SERVERS, VLLM_FRONT_ENDS
from inspector.matrix.table import ClassRows, ScriptRow, totals
from inspector.protocol.wire.endpoints import spec_of

_NAMED: Final = 3
"""Releases and servers that are named; of more, the number is."""


def column_label(run: MatrixRun) -> str:
    """The release of a run, and its front end where that is not vLLM's in Python."""
    if run.front_end in SERVERS:
        return release_name(run)
    return run.version if run.front_end == "python" else f"{run.version} {run.front_end.title()}"


def release_name(run: MatrixRun) -> str:
    """The server of a run with its release."""
    server = SERVERS.get(run.front_end)
    return f"vLLM {column_label(run)}" if server is None else f"{server.label} {run.version}"


class Headline(NamedTuple):
    """What the cells of a matrix say, in one sentence and a second one about more or less of them."""

    sentence: str
    beside: str = ""


def matrix_headline(
    table: Sequence[ClassRows],
    runs: Sequence[MatrixRun],
    *,
    opened: ScriptClass | None = None,
    filtered: bool = False,
) -> Headline:
    """What a table says of the releases of its first run's server; `runs` are its columns, newest first.

    About the class that is `opened`, beside it about all scripts; else about all scripts, beside it about the
    classes that the newest release delivers completely. Every number is the one of a cell (`totals`).
    """
    rows = [row for group in table for row in group.rows]
    counts = totals(rows)
    if not rows or not runs or not any(counts[place] for place, _ in _series(runs)):
        return Headline("Nothing was recorded for this selection.")
    every = _sentence("Scripts shown" if filtered else "All scripts", rows, runs)
    of_class = {group.script_class: group.rows for group in table}
    if opened is not None and opened in of_class:
        return Headline(_sentence(_name(opened), of_class[opened], runs), every)
    since = [
        f"{group.script_class.words} since {release}"
        for group in table
        if (release := complete_since(group.rows, runs)) is not None
    ]
    # Else the first sentence says it; a gateway's says nothing of what a release delivers.
    partly = since and len(since) < len(table) and runs[0].receiver is not Receiver.GATEWAY
    return Headline(every, f"Complete: {', '.join(since)}." if partly else "")


def _name(script_class: ScriptClass) -> str:
    return f"{script_class.words[0].upper()}{script_class.words[1:]}"


def _series(runs: Sequence[MatrixRun]) -> list[tuple[int, MatrixRun]]:
    """The runs with the front end of the first one, and the places of their columns."""
    return [(place, run) for place, run in enumerate(runs) if run.front_end == runs[0].front_end]


def _complete(count: Counter[ScriptOutcome]) -> bool:
    return bool(count) and count[ScriptOutcome.COMPLETE] == count.total()


def complete_since(rows: Sequence[ScriptRow], runs: Sequence[MatrixRun]) -> str | None:
    """The oldest release from which on all deliver all of some scripts; None if the newest does not."""
    counts = totals(rows)
    recorded = [(run, counts[place]) for place, run in _series(runs) if counts[place]]
    complete = list(takewhile(lambda pair: _complete(pair[1]), recorded))
    return complete[-1][0].version if complete else None


def _sentence(name: str, rows: Sequence[ScriptRow], runs: Sequence[MatrixRun]) -> str:
    """What becomes of some scripts: since when they are complete, or which releases lose fewest."""
    counts = totals(rows)
    recorded = [(run, counts[place]) for place, run in _series(runs) if counts[place]]
    if not recorded:
        return f"{name}: nothing was recorded."
    newest, count = recorded[0]
    match newest.receiver:
        case Receiver.CLIENT:
            return f"{name}: {_client_sentence(recorded)}"
        case Receiver.GATEWAY:
            return f"{name}: {_gateway_sentence(newest, count)}"
        case Receiver.SERVER:
            pass
        case _:
            assert_never(newest.receiver)
    if _complete(count):
        since = complete_since(rows, runs)
        others = [
            release_name(run)
            for place, run in enumerate(runs)
            if run.front_end != newest.front_end
            and _complete(counts[place])
            and counts[place].total() == len(rows)
        ]
        where = f"every release of {server_name(newest)}"
        if since != recorded[-1][0].version:
            where = f"{server_name(newest)} since {since}"
        elif len(recorded) == 1:
            where = release_name(newest)
        named = listed(others) if len(others) <= _NAMED else f"{len(others)} other servers"
        return f"{name}: complete in {where}{f', and in {named}' if others else ''}."
    silent, size = count[ScriptOutcome.SILENT], count.total()
    if not silent:
        return (
            f"{name}: {release_name(newest)} loses no text silently and reports "
            f"{count[ScriptOutcome.REPORTED]} of {size} as errors."
        )
    fewest = min(each[ScriptOutcome.SILENT] for _, each in recorded)
    sentence = f"{name}: {release_name(newest)} loses text silently in {silent} of {size}"
    if fewest == silent:
        return f"{sentence}{', no release in fewer' if len(recorded) > 1 else ''}."
    best = [column_label(run) for run, each in recorded if each[ScriptOutcome.SILENT] == fewest]
    named = listed(best) if len(best) <= _NAMED else f"{len(best)} releases"
    return f"{sentence}; fewest in {named}: {fewest}."


def not_served(front_end: str, endpoint: Endpoint) -> str:
    """That a front end does not serve an endpoint, in a sentence; empty where it does."""
    engine = VLLM_FRONT_ENDS.get(front_end)
    if engine is None or endpoint not in engine.lacks:
        return ""
    path = spec_of(endpoint).full_path
    return f"{engine.front_end} does not serve {path}: it answers {engine.lacks[endpoint]}."


def server_name(run: MatrixRun) -> str:
    """The server of a run, with vLLM's front end where it is not the one in Python."""
    if run.front_end in SERVERS:
        return SERVERS[run.front_end].label
    return "vLLM" if run.front_end == "python" else f"vLLM's {run.front_end.title()} front end"


def _client_sentence(recorded: Sequence[tuple[MatrixRun, Counter[ScriptOutcome]]]) -> str:
    """What a client reads of the newest release, and of the last one of which it reads less."""
    newest, count = recorded[0]
    missed, size = count[ScriptOutcome.SILENT], count.total()
    reads = f"{newest.received_by} does not read {missed} of {size} responses of {release_name(newest)}"
    if not missed:
        reads = f"{newest.received_by} reads all {size} responses of {release_name(newest)}"
    worse = next(
        ((run, each[ScriptOutcome.SILENT]) for run, each in recorded if each[ScriptOutcome.SILENT] > missed),
        None,
    )
    return (
        f"{reads}." if worse is None else f"{reads}; of {column_label(worse[0])} it does not read {worse[1]}."
    )


def _gateway_sentence(run: MatrixRun, count: Counter[ScriptOutcome]) -> str:
    """What a gateway makes of the newest release's responses."""
    responses = f"{count.total()} responses of {release_name(run)}"
    if _complete(count):
        return f"{run.received_by} passes on all {responses}."
    changed, errors = count[ScriptOutcome.SILENT], count[ScriptOutcome.REPORTED]
    parts = [
        *([f"changes {changed}"] if changed else []),
        *([f"turns {errors} into errors"] if errors else []),
    ]
    return f"of {responses}, {run.received_by} {' and '.join(parts)}."
