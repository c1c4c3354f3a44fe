"""What the lab's matrix says of each known issue: `python -m tools.make_measured`.

For every issue that the table of right causes (`tools/causes.yaml`) names on an endpoint, it gives
the first release from which all streams of the class are delivered completely, at every step size, by front
end. The class is the well-formed streams that show the issue, or the malformed ones where only those do; of
an issue of one front end alone, the streams that have its form of tokens. `calls` and `no calls` are the
streams with and without function calls.

`delivered` counts the scripts of the matrix's class "tool calls" that each release of the Python front end
delivers completely at every step size.

Releases are those with their own engine and those on the stand-in: it cuts every stream exactly as asked, so
that what differs is the release's. A release counts only where it has a cell.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint, Header
from inspector.files.store import FIXTURES
from inspector.issues import catalogue
from inspector.issues.catalogue.evidence import FormFacts
from inspector.issues.catalogue.issue import Issue
from inspector.issues.catalogue.steps import MEASURED_FILE
from inspector.issues.findings.forms import token_places
from inspector.matrix.results import STAND_IN, MatrixRun, ScriptOutcome, load_runs, version_key
from inspector.matrix.scripts import Script, ScriptClass
from inspector.matrix.scripts import load as load_scripts
from inspector.matrix.servers import VLLM_FRONT_ENDS
from inspector.protocol.engines import DEFAULT
from tools.causes import NONE, CauseTable
from tools.causes import load as load_causes

_CLASSES: Final = ("any", "calls", "no calls")
_Cell = tuple[Endpoint, str, str]
"""Endpoint, script and release."""
_Class = tuple[str, Endpoint]
"""Issue and endpoint."""


def measured_table(folder: Path) -> dict[str, Any]:
    """The content of measured.json."""
    own = load_runs(folder)
    by_engine: dict[str, list[MatrixRun]] = defaultdict(list)
    for run in (*own, *load_runs(folder / STAND_IN)):
        if run.streamed:  # an issue of streams and its twin without one have other releases that are right
            by_engine[VLLM_FRONT_ENDS[run.front_end].name].append(run)
    releases = {
        engine: sorted({run.version for run in runs}, key=version_key) for engine, runs in by_engine.items()
    }
    scripts = {script.name: script for script in load_scripts()}
    causes = load_causes()
    classes = _classes(own, scripts, causes)
    issues: dict[str, dict[str, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    for engine, runs in sorted(by_engine.items()):
        wrong = _wrong(runs)
        chosen = classes if engine == DEFAULT.name else {**classes, **_own_classes(engine, scripts)}
        for (issue, endpoint), names in sorted(chosen.items()):
            measured = {
                kind: {
                    "first_right": _first_right(endpoint, of_class, releases[engine], wrong),
                    "streams": len(of_class),
                    "class": Counter(scripts[name].example_of.value for name in of_class).most_common(1)[0][
                        0
                    ],
                }
                for kind in _CLASSES
                if (of_class := _of_class(kind, [scripts[name] for name in names]))
                and any(wrong_endpoint is endpoint for wrong_endpoint, _, _ in wrong)
            }
            if measured:
                issues[issue][endpoint.value][engine] = measured
    delivered = _delivered(releases[DEFAULT.name], _wrong(by_engine[DEFAULT.name]), scripts)
    return {"releases": releases, "delivered": delivered, "issues": issues}


def _delivered(
    releases: Iterable[str], wrong: Mapping[_Cell, bool], scripts: Mapping[str, Script]
) -> dict[str, dict[str, Any]]:
    """By endpoint: the number of scripts of the class, and how many each release delivers completely."""
    names = [script.name for script in scripts.values() if script.example_of is ScriptClass.CALLS]
    return {
        endpoint.value: {
            "scripts": len({name for lost_on, name, _ in wrong if lost_on is endpoint and name in names}),
            "complete": {
                release: sum(wrong.get((endpoint, name, release)) is False for name in names)
                for release in releases
            },
        }
        for endpoint in (Endpoint.CHAT, Endpoint.RESPONSES)
    }


def _classes(
    runs: Iterable[MatrixRun], scripts: Mapping[str, Script], causes: CauseTable
) -> dict[_Class, list[str]]:
    """The streams that show each issue on the releases that the table of causes was written for."""
    shows: dict[_Class, set[str]] = defaultdict(set)
    for run, endpoint, name in _cells(runs):
        if run.scores[endpoint, name].outcome is ScriptOutcome.COMPLETE:
            continue
        right = causes.right(name, run.version, endpoint, run.stream_interval)
        if right is not None and right.cause != NONE and scripts[name].stream:
            shows[right.cause, endpoint].add(name)
    return {
        key: [name for name in sorted(names) if name not in causes.models] or sorted(names)
        for key, names in shows.items()
    }


def _own_classes(engine: str, scripts: Mapping[str, Script]) -> dict[_Class, list[str]]:
    """The streams with the form of tokens of an issue that one engine alone has."""
    return {
        (issue.id, endpoint): names
        for issue in catalogue()
        if issue.engines == {engine} and issue.tokens
        if (names := [name for name, script in sorted(scripts.items()) if _has_form(issue, script)])
        for endpoint in issue.endpoints
    }


def _has_form(issue: Issue, script: Script) -> bool:
    empty = Capture(header=Header(endpoint=Endpoint.TOKENS), events=[])
    single_turn = len(script.turns) == 1 and script.well_formed and script.stream
    return single_turn and bool(token_places(issue, FormFacts(read(empty, truth=script.sampled))))


def _wrong(runs: Iterable[MatrixRun]) -> dict[_Cell, bool]:
    """Whether a stream was not delivered completely at some step size."""
    wrong: dict[_Cell, bool] = defaultdict(bool)
    for run, endpoint, name in _cells(runs):
        wrong[endpoint, name, run.version] |= run.scores[endpoint, name].outcome is not ScriptOutcome.COMPLETE
    return wrong


def _cells(runs: Iterable[MatrixRun]) -> Iterable[tuple[MatrixRun, Endpoint, str]]:
    return ((run, endpoint, name) for run in runs for endpoint, name in run.scores)


def _of_class(kind: str, scripts: Iterable[Script]) -> list[str]:
    return [
        script.name
        for script in scripts
        if kind == "any" or bool(script.expect.tool_calls) == (kind == "calls")
    ]


def _first_right(
    endpoint: Endpoint, names: Iterable[str], releases: Iterable[str], wrong: Mapping[_Cell, bool]
) -> str | None:
    first = None
    for release in releases:
        cells = [wrong[endpoint, name, release] for name in names if (endpoint, name, release) in wrong]
        if any(cells):
            first = None
        elif cells and first is None:
            first = release
    return first


def main() -> None:
    """Write the file."""
    table = measured_table(FIXTURES / "matrix")
    MEASURED_FILE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
