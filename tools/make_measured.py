"""What the lab's matrix says of each known issue: `python -m tools.make_measured`.

For every issue that the table of right causes (`inspector/lab/causes.yaml`) names on an endpoint, it gives
the first release from which all streams of the class are delivered completely, at every step size. The class
is the well-formed streams that show the issue, or the malformed ones where only those do. `calls` and
`no calls` are the streams with and without function calls.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from inspector.capture import Endpoint
from inspector.diagnosis.steps import MEASURED_FILE
from inspector.lab.causes import NONE
from inspector.lab.causes import load as load_causes
from inspector.lab.results import Run, load_runs, version_key
from inspector.lab.score import Outcome
from inspector.lab.scripts import Script
from inspector.lab.scripts import load as load_scripts
from inspector.store import FIXTURES

__all__ = ["main", "measured_table"]

_CLASSES: Final = ("any", "calls", "no calls")
_Cell = tuple[Endpoint, str, str]
"""Endpoint, script and release."""


def measured_table(folder: Path) -> dict[str, Any]:
    """The content of measured.json."""
    runs = load_runs(folder)
    releases = sorted({run.version for run in runs}, key=version_key)
    scripts = {script.name: script for script in load_scripts()}
    wrong: dict[_Cell, bool] = defaultdict(bool)
    shows: dict[tuple[str, Endpoint], set[str]] = defaultdict(set)
    causes = load_causes()
    for run, endpoint, name in _cells(runs):
        failed = run.scores[endpoint, name].outcome is not Outcome.WHOLE
        wrong[endpoint, name, run.version] |= failed
        right = causes.right(name, run.version, endpoint, run.stream_interval) if failed else None
        if right is not None and right.cause != NONE and scripts[name].stream:
            shows[right.cause, endpoint].add(name)
    issues: dict[str, dict[str, Any]] = defaultdict(dict)
    for (issue, endpoint), names in sorted(shows.items()):
        chosen = [scripts[name] for name in sorted(names) if name not in causes.models]
        chosen = chosen or [scripts[name] for name in sorted(names)]
        classes = {kind: _of_class(kind, chosen) for kind in _CLASSES}
        issues[issue][endpoint.value] = {
            kind: {"first_right": _first_right(endpoint, some, releases, wrong), "streams": len(some)}
            for kind, some in classes.items()
            if some
        }
    return {"releases": releases, "issues": issues}


def _cells(runs: Iterable[Run]) -> Iterable[tuple[Run, Endpoint, str]]:
    return ((run, endpoint, name) for run in runs for endpoint, name in run.scores)


def _of_class(kind: str, scripts: Iterable[Script]) -> list[str]:
    return [one.name for one in scripts if kind == "any" or bool(one.expect.tool_calls) == (kind == "calls")]


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
