"""The matrix as static pages: one for each release and front end, an address for each cell, a feed, and JSON.

    index.html              the releases with their counts, and what changed last
    python-0.33.0.html      every cell; `#chat-3-plain` is the stream `plain` on chat with 3 tokens per step
    changes.xml             what changed with each release, an Atom feed
    matrix.json             every outcome

Addresses depend on front end, release, endpoint, step and script alone, so links to them stay right.
Everything that came from a server or a script file is escaped; the pages have no scripts and load nothing.
"""

import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.files.store import replacing
from inspector.lab.changes import change_sentence, neighbours, shifts
from inspector.lab.html import SHAPES, STYLE
from inspector.lab.results import Run, one_each, version_key
from inspector.lab.score import Outcome, Score
from inspector.lab.scripts import ENDPOINTS, Script

FORMAT: Final = 1

_TITLE: Final = "Harmony conformance of vLLM releases"
_MORE: Final = (
    "a{color:inherit}td.cell{text-align:left;scroll-margin-top:3rem}td:target{outline:3px solid}"
    "td.cell small{display:block;white-space:pre-wrap;max-width:34em}tbody th small{font-weight:normal}"
    "@media(max-width:600px){body{margin:.5rem}tbody th{min-width:7.5em;overflow-wrap:anywhere}"
    "tbody th small{display:none}}"
)


def publish(runs: Sequence[Run], scripts: Sequence[Script], folder: Path) -> list[Path]:
    """Write the pages; returns the files. Of two runs of a release and step the real engine's is taken."""
    chosen = one_each(runs)
    pages: dict[str, list[Run]] = {}
    for run in chosen:
        pages.setdefault(_page_of(run), []).append(run)
    files = {name: _release(some, scripts) for name, some in pages.items()}
    files["index.html"] = _index(pages, chosen)
    files["changes.xml"] = _feed(chosen)
    files["matrix.json"] = json.dumps(_rows(chosen), ensure_ascii=False, separators=(",", ":")) + "\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            with replacing(folder / name, private=False) as file:
                file.write(text.encode())
    except OSError as error:
        raise LabError(f"{folder}: the pages cannot be written ({error}); name another folder") from error
    return [folder / name for name in files]


def address_of(run: Run, endpoint: Endpoint, script: str) -> str:
    """The address of a cell below the folder."""
    return f"{_page_of(run)}#{endpoint.value}-{run.step}-{script}"


def _page_of(run: Run) -> str:
    return f"{run.front_end}-{run.version}.html"


def _name_of(run: Run) -> str:
    return f"vLLM {run.version}, {run.front_end.title()} front end"


def _html(title: str, body: str) -> str:
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<link rel="alternate" type="application/atom+xml" href="changes.xml">'
        f"<title>{escape(title)}</title><style>{STYLE}{_MORE}</style><h1>{escape(title)}</h1>{body}</html>\n"
    )


def _release(runs: Sequence[Run], scripts: Sequence[Script]) -> str:
    """The page of one release: a table for each endpoint, the steps across."""
    endpoints = [one for one in ENDPOINTS if any(key[0] is one for run in runs for key in run.scores)]
    tables = []
    for endpoint in endpoints:
        head = "".join(f"<th>{escape(_steps(run))}</th>" for run in runs)
        rows = "".join(
            f'<tr><th scope="row">{escape(script.name)}<br><small>{escape(script.sentence)}</small></th>'
            + "".join(_cell(run, endpoint, script.name) for run in runs)
            + "</tr>"
            for script in scripts
            if any((endpoint, script.name) in run.scores for run in runs)
        )
        tables.append(
            f"<h2>{endpoint.value}</h2><table><thead><tr><th>script</th>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )
    recorded = ", ".join(f"{run.name} ({run.engine} engine, {escape(run.recorded_at)})" for run in runs)
    back = f'<p><a href="index.html">All releases</a>. Recorded as {recorded}.</p>'
    return _html(_name_of(runs[0]), back + "".join(tables))


def _cell(run: Run, endpoint: Endpoint, script: str) -> str:
    score = run.scores.get((endpoint, script))
    if score is None:
        return '<td class="none">– not recorded</td>'
    place = f"{endpoint.value}-{run.step}-{escape(script, quote=True)}"
    differences = "".join(f"<small>{escape(words)}</small>" for words in score.differences)
    link = f'<a href="#{place}">{SHAPES[score.outcome]} {score.outcome.words}</a>'
    return f'<td id="{place}" class="cell {score.outcome.value}">{link}{differences}</td>'


def _steps(run: Run) -> str:
    return run.step_words


def _index(pages: dict[str, list[Run]], runs: Sequence[Run]) -> str:
    rows = []
    for name, some in sorted(pages.items(), key=lambda one: version_key(one[1][0].version), reverse=True):
        counts = "".join(f"<td>{_counted(some, endpoint)}</td>" for endpoint in ENDPOINTS)
        rows.append(f'<tr><th scope="row"><a href="{name}">{escape(_name_of(some[0]))}</a></th>{counts}</tr>')
    head = "".join(f"<th>{endpoint.value}</th>" for endpoint in ENDPOINTS)
    changed = "".join(f"<li>{escape(words)}</li>" for _, words in _changes(runs)[:20])
    legend = ", ".join(f"{SHAPES[outcome]} {outcome.words}" for outcome in Outcome)
    return _html(
        _TITLE,
        "<p>Real vLLM servers emitted exactly the tokens of each script; a cell shows what the client "
        f"received. {legend}. Counts are of scripts and steps. "
        '<a href="matrix.json">JSON</a>, <a href="changes.xml">feed of changes</a>.</p>'
        f"<table><thead><tr><th>release</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        f"<h2>What changed</h2><ul>{changed}</ul>",
    )


def _counted(runs: Iterable[Run], endpoint: Endpoint) -> str:
    seen = [score.outcome for run in runs for key, score in run.scores.items() if key[0] is endpoint]
    counts = [f"{SHAPES[outcome]} {seen.count(outcome)}" for outcome in Outcome]
    return " ".join(counts) if seen else "–"


def _changes(runs: Iterable[Run]) -> list[tuple[Run, str]]:
    """The sentences of all changes, newest release first, with the run that they are about."""
    found = []
    for older, newer in neighbours(runs):
        for endpoint in ENDPOINTS:
            if moved := shifts(older, newer, endpoint):
                where = f"{newer.front_end.title()}, {endpoint.value}, {_steps(newer)}"
                found.append((newer, f"{where}: {change_sentence(older, newer, moved)}"))
    return sorted(found, key=lambda one: version_key(one[0].version), reverse=True)


def _feed(runs: Sequence[Run]) -> str:
    """An Atom feed with an entry for each release and front end in which an outcome changed."""
    by_page: dict[str, list[tuple[Run, str]]] = {}
    for run, words in _changes(runs):
        by_page.setdefault(_page_of(run), []).append((run, words))
    entries = []
    for page, some in by_page.items():
        run = some[0][0]
        words = "".join(f"<li>{escape(one)}</li>" for _, one in some)
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


def _rows(runs: Iterable[Run]) -> dict[str, Any]:
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
            }
            for run in runs
        ],
    }


def _scores(run: Run) -> dict[str, dict[str, Any]]:
    """By endpoint and script: the outcome, with what differed where something did."""
    found: dict[str, dict[str, Any]] = {}
    for (endpoint, script), score in sorted(run.scores.items()):
        found.setdefault(endpoint.value, {})[script] = _score(score)
    return found


def _score(score: Score) -> str | list[Any]:
    if not score.differences:
        return score.outcome.value
    return [score.outcome.value, *score.differences]
