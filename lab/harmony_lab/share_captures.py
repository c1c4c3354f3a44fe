"""Ships the matrix on the stand-in engine: `python -m harmony_lab.share_captures FROM TO`.

Copies results and captures from one folder to another. Most neighbouring releases answer a script in the same
way to the letter, apart from ids and times; such a stream is stored once, with the first run that has it, and
the other cells name that run (`kept_in`). Cells that the second folder has already stay as they are; to
replace one, delete the folder and run this again.
"""

import hashlib
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from harmony_lab.run_files import RunWriter
from inspector.capture.capture import Capture
from inspector.matrix.results import capture_of, captures_of, load_runs

_IDS: Final = re.compile(
    r"\b((?:chatcmpl|cmpl|resp|msg|rs|fc|ci|ws|call|mcp|tool)(?:-tool)?[-_])[0-9A-Za-z_-]{6,}"
)
_SIGNATURES: Final = re.compile(r'("signature": ?)"[0-9a-f]{32}"')
_TIMES: Final = re.compile(r'("(?:created|created_at|completed_at|timestamp)": ?)[0-9.]+')


def stream_digest(capture: Capture) -> str:
    """What tells two streams apart: request, status, events and end, without ids and times."""
    header = capture.header
    identity = [header.endpoint.value, header.request, header.status, header.owned_by, header.script]
    events = [[event.kind.value, event.name, _blank(event.data)] for event in capture.events]
    end = [capture.end.cut, _blank(capture.end.detail)] if capture.end else []
    text = json.dumps([identity, events, end], sort_keys=True, default=list)
    return hashlib.sha256(text.encode()).hexdigest()


def share(source: Path, target: Path) -> tuple[int, int]:
    """Write the runs of `source` to `target`; returns how many cells and different streams."""
    holders: dict[str, str] = {}
    shipped = {run.name: run for run in load_runs(target)}
    for run in shipped.values():
        for endpoint, script, own in captures_of(run):
            if (endpoint, script) not in run.kept_in:
                holders[f"{script} {stream_digest(own)}"] = run.name
    cells = sum(len(run.scores) for run in shipped.values())
    for run in load_runs(source):
        before = shipped.get(run.name, replace(run, scores={}, kept_in={}))
        if not (missing := run.scores.keys() - before.scores.keys()):
            continue
        shelf = RunWriter(target, run.package, run.version, run.step)
        kept_in = dict(before.kept_in)
        for endpoint, script in sorted(missing):
            capture = capture_of(run, endpoint, script)
            if capture is None:
                continue
            cells += 1
            key = f"{script} {stream_digest(capture)}"
            if (holder := holders.setdefault(key, run.name)) == run.name:
                shelf.keep(endpoint, script, capture)
            else:
                kept_in[endpoint, script] = holder
        shelf.pack()
        scores = {**before.scores, **{key: run.scores[key] for key in missing}}
        shelf.write(replace(before, scores=scores, kept_in=kept_in))
    return cells, len(holders)


def _blank(text: str) -> str:
    return _TIMES.sub(r"\1 0", _SIGNATURES.sub(r'\1""', _IDS.sub(r"\1", text)))


def main(source: str, target: str) -> None:
    """Share the captures of a folder."""
    cells, own = share(Path(source), Path(target))
    sys.stdout.write(f"{cells} cells, {own} different streams\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
