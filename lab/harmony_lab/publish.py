"""The matrix as HTML: on one page to share, or as a folder of pages to publish.

The folder has a page for each release and front end, with an address for each cell:

    index.html              the releases with their counts, and what changed last
    servers.html            the same stream on the newest release of every server
    python-0.33.0.html      every cell; `#chat-3-plain` is the stream `plain` on chat with 3 tokens per step
    changes.xml             what changed with each release, an Atom feed
    matrix.json             every outcome

Addresses depend only on front end, release, endpoint, step and script, so links to them stay valid.
Text from servers and script files is escaped; the pages have no scripts and load nothing.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any, Final

from harmony_lab.standin.steps import CONDITIONS
from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.files.store import replacing
from inspector.matrix.changes import change_sentence, neighbours, shifts
from inspector.matrix.headline import release_name
from inspector.matrix.receivers import NO_RECEIVERS, Receivers
from inspector.matrix.results import STAND_IN, MatrixRun, Score, ScriptOutcome, unique_runs, version_key
from inspector.matrix.scripts import ENDPOINTS, Script
from inspector.matrix.servers import SERVERS

FORMAT: Final = 1

_STYLE: Final = """
body{font:14px/1.45 system-ui,sans-serif;margin:2rem;color:#1c1c1c;background:#fff}
table{border-collapse:collapse;margin:1rem 0 2rem}
th,td{border:1px solid #ddd;padding:.2rem .5rem;text-align:left;vertical-align:top}
thead th{position:sticky;top:0;background:#f6f6f6}
td.whole{color:#00805E}td.told{color:#8A6100;background:#fff8e6}td.silent{color:#A63508;background:#fdeee8}
td.none{color:#888}td{text-align:center}th+td,tbody th{text-align:left}small{color:#555}
@media (prefers-color-scheme:dark){body{background:#121212;color:#e8e8e8}th,td{border-color:#333}
thead th{background:#1d1d1d}td.told{background:#2b2410;color:#e0b04a}
td.silent{background:#2e1710;color:#ff9a75}
td.whole{color:#4fc9a4}small{color:#aaa}}
"""

_TITLE: Final = "Harmony conformance of vLLM and other servers"
_PUBLISHED_STYLE: Final = (
    "a{color:inherit}td.cell{text-align:left;scroll-margin-top:3rem}td:target{outline:3px solid}"
    "td.cell small{display:block;white-space:pre-wrap;max-width:34em}tbody th small{font-weight:normal}"
    "@media(max-width:600px){body{margin:.5rem}tbody th{min-width:7.5em;overflow-wrap:anywhere}"
    "tbody th small{display:none}}"
)


def matrix_page(runs: Sequence[MatrixRun], scripts: Sequence[Script]) -> str:
    """The matrix on one page: a table per endpoint, releases and steps as columns, scripts as rows."""
    endpoints = [
        endpoint for endpoint in Endpoint if any(key[0] is endpoint for run in runs for key in run.scores)
    ]
    tables = "".join(_matrix_table(endpoint, runs, scripts) for endpoint in endpoints)
    legend = ", ".join(
        f"{outcome.sign} {words}"
        for outcome, words in (
            (ScriptOutcome.COMPLETE, "complete"),
            (ScriptOutcome.REPORTED, "error reported to the client"),
            (ScriptOutcome.SILENT, "silent loss: text lost, changed or misfiled without an error"),
        )
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f"<title>{_TITLE}</title><style>{_STYLE}</style><h1>{_TITLE}</h1>"
        "<p>Real servers emitted exactly the tokens of each script; "
        "a cell shows what the client received. "
        f"{legend}.</p>{tables}</html>\n"
    )


def _matrix_table(endpoint: Endpoint, runs: Sequence[MatrixRun], scripts: Sequence[Script]) -> str:
    head = "".join(
        f"<th>{escape(run.version)}<br><small>{escape(_condition_of(run))}</small></th>" for run in runs
    )
    rows = "".join(
        f'<tr><th scope="row">{escape(script.name)}<br><small>{escape(script.sentence)}</small></th>'
        + "".join(_outcome_cell(run.scores.get((endpoint, script.name))) for run in runs)
        + "</tr>"
        for script in scripts
        if any((endpoint, script.name) in run.scores for run in runs)
    )
    return (
        f"<h2>{escape(endpoint.value)}</h2><table><thead><tr><th>script</th>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _condition_of(run: MatrixRun) -> str:
    steps = run.step_words
    return steps if run.engine != STAND_IN else f"{steps}, {run.front_end}, stand-in engine"


def _sampler(score: Score) -> tuple[str, ...]:
    return (score.sampler,) if score.sampler else ()


def _outcome_cell(score: Score | None) -> str:
    if score is None:
        return '<td class="none" title="not recorded">–</td>'
    notes = (*score.differences, *score.kinds, *_sampler(score))
    title = escape("; ".join(notes) or "complete", quote=True)
    words = f"{score.outcome.sign}{'*' if score.sampler else ''}<br><small>{score.outcome.words}</small>"
    return f'<td class="{score.outcome.value}" title="{title}">{words}</td>'


def publish(
    runs: Sequence[MatrixRun],
    scripts: Sequence[Script],
    folder: Path,
    clients: Receivers = NO_RECEIVERS,
) -> list[Path]:
    """Write the pages; returns the files.

    A real engine's run is preferred to the stand-in's, but for the endpoints at which it was not asked.
    """
    chosen = unique_runs(runs)
    every = [*chosen, *_more_endpoints(chosen, runs)]
    pages: dict[str, list[MatrixRun]] = {}
    for run in every:
        pages.setdefault(_page_of(run), []).append(run)
    files = {name: _release(page_runs, scripts, clients) for name, page_runs in pages.items()}
    files["servers.html"] = _servers(pages, scripts)
    files["index.html"] = _index(pages, chosen, clients)
    files["changes.xml"] = _feed(chosen)
    rows = _rows(every, clients)
    files["matrix.json"] = json.dumps(rows, ensure_ascii=False, separators=(",", ":")) + "\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            with replacing(folder / name, private=False) as file:
                file.write(text.encode())
    except OSError as error:
        raise LabError(f"{folder}: the pages cannot be written ({error}); name another folder") from error
    return [folder / name for name in files]


def _more_endpoints(chosen: Sequence[MatrixRun], runs: Sequence[MatrixRun]) -> Iterator[MatrixRun]:
    """Other runs of the same releases, with the scores of endpoints that the chosen ones do not have."""
    names = {run.name for run in chosen}
    for endpoint in ENDPOINTS:
        for run in unique_runs(runs, endpoint):
            if run.name not in names and run.asks(endpoint):
                scores = {key: score for key, score in run.scores.items() if key[0] is endpoint}
                yield replace(run, scores=scores)


def _page_of(run: MatrixRun) -> str:
    return f"{run.front_end}-{run.version}.html"


def _name_of(run: MatrixRun) -> str:
    return (
        release_name(run) if run.front_end in SERVERS else f"vLLM {run.version}, {_front_end(run)} front end"
    )


def _front_end(run: MatrixRun) -> str:
    server = SERVERS.get(run.front_end)
    return run.front_end.title() if server is None else server.label


def _newest_first(page: tuple[str, Sequence[MatrixRun]]) -> tuple[int, list[int]]:
    """Sort key of pages: vLLM, then each other server, and the newest release first."""
    run = page[1][0]
    place = list(SERVERS).index(run.front_end) + 1 if run.front_end in SERVERS else 0
    return place, [-number for number in version_key(run.version)]


def _html(title: str, body: str) -> str:
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<link rel="alternate" type="application/atom+xml" href="changes.xml">'
        f"<title>{escape(title)}</title><style>{_STYLE}{_PUBLISHED_STYLE}</style><h1>{escape(title)}</h1>{body}</html>\n"
    )


def _release(runs: Sequence[MatrixRun], scripts: Sequence[Script], clients: Receivers) -> str:
    """The page of one release: a table per endpoint, steps as columns.

    A cell names the clients that do not read the response.
    """
    unread = {run.name: _unread(run, clients) for run in runs}
    endpoints = [
        endpoint for endpoint in ENDPOINTS if any(key[0] is endpoint for run in runs for key in run.scores)
    ]
    tables = []
    for endpoint in endpoints:
        asked = [run for run in runs if run.asks(endpoint)]
        head = "".join(f"<th>{escape(run.step_words)}</th>" for run in asked)
        rows = "".join(
            f'<tr><th scope="row">{escape(script.name)}<br><small>{escape(script.sentence)}</small></th>'
            + "".join(
                _cell(run, endpoint, script.name, unread[run.name].get((endpoint, script.name), ()))
                for run in asked
            )
            + "</tr>"
            for script in scripts
            if any((endpoint, script.name) in run.scores for run in asked)
        )
        tables.append(
            f"<h2>{endpoint.value}</h2><table><thead><tr><th>script</th>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )
    recorded = ", ".join(f"{run.name} ({run.engine} engine, {escape(run.recorded_at)})" for run in runs)
    server = SERVERS.get(runs[0].front_end)
    note = "" if server is None else f" {escape(server.note)}"
    back = f'<p><a href="index.html">All releases</a>. Recorded as {recorded}.{note}</p>'
    return _html(_name_of(runs[0]), back + "".join(tables))


def _servers(pages: Mapping[str, Sequence[MatrixRun]], scripts: Sequence[Script]) -> str:
    """The same stream on every server: the newest release of each, at each number of tokens per step."""
    newest: dict[str, tuple[str, Sequence[MatrixRun]]] = {}
    for name, runs in sorted(pages.items(), key=_newest_first):
        newest.setdefault(runs[0].front_end, (name, runs))
    tables = []
    for step in CONDITIONS:
        columns = [(name, run) for name, runs in newest.values() for run in runs if run.step == step]
        head = "".join(f'<th><a href="{name}">{escape(_name_of(run))}</a></th>' for name, run in columns)
        rows = "".join(
            f'<tr><th scope="row">{escape(script.name)}<br><small>{escape(script.sentence)}</small></th>'
            + "".join(_linked_cell(name, run, script.name) for name, run in columns)
            + "</tr>"
            for script in scripts
            if any((Endpoint.CHAT, script.name) in run.scores for _, run in columns)
        )
        if columns:
            tables.append(
                f"<h2>{escape(columns[0][1].step_words)}</h2><table><thead><tr><th>script</th>{head}</tr>"
                f"</thead><tbody>{rows}</tbody></table>"
            )
    back = '<p><a href="index.html">All releases</a>. Chat, the newest recorded release of each server.</p>'
    return _html("The same stream on every server", back + "".join(tables))


def _linked_cell(page: str, run: MatrixRun, script: str) -> str:
    """A cell that leads to that of the release's own page."""
    score = run.scores.get((Endpoint.CHAT, script))
    if score is None:
        return '<td class="none">– not recorded</td>'
    place = f"{page}#{Endpoint.CHAT.value}-{run.step}-{escape(script, quote=True)}"
    link = f'<a href="{place}">{score.outcome.sign} {score.outcome.words}</a>'
    return f'<td class="cell {score.outcome.value}">{link}</td>'


def _unread(run: MatrixRun, clients: Receivers) -> Mapping[tuple[Endpoint, str], Sequence[str]]:
    """By endpoint and script, which clients do not read the response, and why."""
    unread: dict[tuple[Endpoint, str], list[str]] = {}
    for client in clients.by_name:
        for key, score in _unread_by(client, run, clients).scores.items():
            unread.setdefault(key, []).append(": ".join((f"{client} does not read it", *score.differences)))
    return unread


def _cell(run: MatrixRun, endpoint: Endpoint, script: str, unread: Sequence[str]) -> str:
    score = run.scores.get((endpoint, script))
    if score is None:
        return '<td class="none">– not recorded</td>'
    place = f"{endpoint.value}-{run.step}-{escape(script, quote=True)}"
    notes = (*score.differences, *_sampler(score), *unread)
    differences = "".join(f"<small>{escape(words)}</small>" for words in notes)
    link = f'<a href="#{place}">{score.outcome.sign} {score.outcome.words}</a>'
    return f'<td id="{place}" class="cell {score.outcome.value}">{link}{differences}</td>'


def _index(pages: dict[str, list[MatrixRun]], runs: Sequence[MatrixRun], clients: Receivers) -> str:
    rows = []
    for name, page_runs in sorted(pages.items(), key=_newest_first):
        counts = "".join(f"<td>{_counted(page_runs, endpoint)}</td>" for endpoint in ENDPOINTS)
        rows.append(
            f'<tr><th scope="row"><a href="{name}">{escape(_name_of(page_runs[0]))}</a></th>{counts}</tr>'
        )
    head = "".join(f"<th>{endpoint.value}</th>" for endpoint in ENDPOINTS)
    changed = "".join(f"<li>{escape(words)}</li>" for _, words in _changes(runs)[:20])
    legend = ", ".join(f"{outcome.sign} {outcome.words}" for outcome in ScriptOutcome)
    return _html(
        _TITLE,
        "<p>Real servers emitted exactly the tokens of each script; a cell shows what the client "
        f"received. {legend}. Counts are of scripts and steps. "
        '<a href="servers.html">Every server side by side</a>, <a href="matrix.json">JSON</a>, '
        '<a href="changes.xml">feed of changes</a>.</p>'
        f"<table><thead><tr><th>release</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        f"{_client_table(pages, clients)}"
        f"<h2>What changed</h2><ul>{changed}</ul>",
    )


def _client_table(pages: dict[str, list[MatrixRun]], clients: Receivers) -> str:
    """How many responses of each release each client does not read."""
    if not clients.by_name:
        return ""
    rows = []
    for name, runs in sorted(pages.items(), key=_newest_first):
        cells = []
        for client in clients.by_name:
            size = sum(len(clients.view(client, run).scores) for run in runs)
            unread = sum(len(_unread_by(client, run, clients).scores) for run in runs)
            cells.append(f"<td>{unread} of {size}</td>" if size else "<td>–</td>")
        title = escape(_name_of(runs[0]))
        rows.append(f'<tr><th scope="row"><a href="{name}">{title}</a></th>{"".join(cells)}</tr>')
    head = "".join(f"<th>{escape(client)}</th>" for client in clients.by_name)
    return (
        "<h2>Responses that a client does not read</h2><p>The SDK's own accumulator ran over the recorded "
        "responses of chat and Responses; it raised an exception that is not a report of the server's error, "
        "or its object lacks delivered text.</p>"
        f"<table><thead><tr><th>release</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _counted(runs: Iterable[MatrixRun], endpoint: Endpoint) -> str:
    outcomes = [score.outcome for run in runs for key, score in run.scores.items() if key[0] is endpoint]
    counts = [f"{outcome.sign} {outcomes.count(outcome)}" for outcome in ScriptOutcome]
    return " ".join(counts) if outcomes else "–"


def _changes(runs: Iterable[MatrixRun]) -> list[tuple[MatrixRun, str]]:
    """Each change's newer run and sentence, newest release first."""
    changes = []
    for older, newer in neighbours(runs):
        for endpoint in ENDPOINTS:
            if moved := shifts(older, newer, endpoint):
                where = f"{_front_end(newer)}, {endpoint.value}, {newer.step_words}"
                changes.append((newer, f"{where}: {change_sentence(older, newer, moved)}"))
    return sorted(changes, key=lambda change: version_key(change[0].version), reverse=True)


def _feed(runs: Sequence[MatrixRun]) -> str:
    """An Atom feed with an entry for each release and front end in which an outcome changed."""
    by_page: dict[str, list[tuple[MatrixRun, str]]] = {}
    for run, words in _changes(runs):
        by_page.setdefault(_page_of(run), []).append((run, words))
    entries = []
    for page, changes in by_page.items():
        run = changes[0][0]
        words = "".join(f"<li>{escape(sentence)}</li>" for _, sentence in changes)
        entries.append(
            f"<entry><id>urn:harmony-inspector:matrix:{run.front_end}:{escape(run.version)}</id>"
            f'<title>{escape(_name_of(run))}</title><link href="{page}"/>'
            f"<updated>{escape(run.recorded_at)}</updated>"
            f'<content type="html">{escape(f"<ul>{words}</ul>")}</content></entry>'
        )
    newest = max((run.recorded_at for run in runs), default="")
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
        f"<id>urn:harmony-inspector:matrix</id><title>{_TITLE}</title>"
        "<author><name>Harmony Inspector</name></author>"
        f"<updated>{escape(newest)}</updated>{''.join(entries)}</feed>\n"
    )


def _rows(runs: Iterable[MatrixRun], clients: Receivers) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "runs": [
            {
                "front_end": run.front_end,
                "version": run.version,
                "steps": run.step,
                "engine": run.engine,
                "recorded_at": run.recorded_at,
                "page": _page_of(run),
                "scores": _scores(run),
                "unread": {client: _scores(_unread_by(client, run, clients)) for client in clients.by_name},
            }
            for run in runs
        ],
    }


def _unread_by(client: str, run: MatrixRun, clients: Receivers) -> MatrixRun:
    scores = clients.view(client, run).scores
    return replace(
        run, scores={key: score for key, score in scores.items() if score.outcome is ScriptOutcome.SILENT}
    )


def _scores(run: MatrixRun) -> dict[str, dict[str, Any]]:
    """By endpoint and script: the outcome, with the differences if there are any."""
    rows: dict[str, dict[str, Any]] = {}
    for (endpoint, script), score in sorted(run.scores.items()):
        rows.setdefault(endpoint.value, {})[script] = _score(score)
    return rows


def _score(score: Score) -> str | list[Any]:
    if not score.differences:
        return score.outcome.value
    return [score.outcome.value, *score.differences]
