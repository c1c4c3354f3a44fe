"""The witness (monitoring/witness) in a server of the lab, and what it counted."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from shutil import copyfile
from typing import NamedTuple

import httpx

from harmony_lab.install import installed
from harmony_lab.paths import LabPaths
from harmony_lab.process import ServerProcess
from harmony_lab.recording import Target, record
from harmony_lab.score import score
from harmony_lab.server import ServerOptions
from harmony_lab.session import LabSession
from harmony_lab.standin.install import FRONT_END
from harmony_lab.standin.serving import StandinServer
from inspector.capture.capture import Capture, Endpoint
from inspector.files.store import FIXTURES
from inspector.matrix.results import UNSTREAMED, default_root, load_runs
from inspector.matrix.scripts import Script

WITNESS = Path(__file__).parents[3] / "monitoring" / "witness"
ENDPOINTS = (Endpoint.CHAT, Endpoint.RESPONSES)

_LINE = re.compile(r"harmony witness: (\S+) \((chat|responses)\): (.+?); the parser swallowed (\d+) errors")
_ID = re.compile(r'"id": ?"((?:chatcmpl|resp)[-_][^"]+)"')
_VERDICTS = {"text was lost": "lost", "text is in another field": "misfiled", "no text was lost": ""}
_SAMPLE = re.compile(r'^(harmony_witness_\w+_total)\{endpoint="(\w+)",\w+="(\w+)"\} ([\d.]+)$', re.MULTILINE)


class WitnessCell(NamedTuple):
    """One cell of the built-in matrix, and its script's response now."""

    shipped: str
    replayed: str
    verdict: str
    errors: int


def installed_into(folder: Path) -> Path:
    """A folder for PYTHONPATH with the module and the metadata that pip would write."""
    project = tomllib.loads((WITNESS / "pyproject.toml").read_text("utf-8"))["project"]
    metadata = folder / f"harmony_witness-{project['version']}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n", "utf-8"
    )
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n", "utf-8")
    copyfile(WITNESS / "harmony_witness.py", folder / "harmony_witness.py")
    return folder


def serve(stack: ExitStack, version: str, *plugins: Path, flags: Iterable[str] = ()) -> StandinServer:
    """A Python front end with plugins."""
    paths = LabPaths(default_root())
    environment = installed(paths, FRONT_END, version)
    assert environment is not None, f"run python -m inspector lab install --front-end {version}"
    options = ServerOptions(schedule="1", plugins=plugins, flags=tuple(flags), tools=True)
    server = LabSession(paths=paths, package=FRONT_END).serving(stack, environment, options)
    assert isinstance(server, StandinServer)
    return server


def counted(server: ServerProcess) -> Counter[tuple[str, str, str]]:
    """The witness's samples on /metrics by name, endpoint and the last label."""
    text = httpx.get(f"{server.base_url}/metrics", timeout=30).text
    return Counter(
        {(name, endpoint, last): int(float(value)) for name, endpoint, last, value in _SAMPLE.findall(text)}
    )


def verdicts(server: StandinServer) -> dict[str, tuple[str, int]]:
    """The witness's lines in the server's log: verdict and swallowed errors by response ID."""
    lines = _LINE.findall(server.log.read_text("utf-8", errors="replace"))
    return {response_id: (_VERDICTS[words], int(errors)) for response_id, _, words, errors in lines}


def compared(
    server: StandinServer, version: str, step: str, scripts: Iterable[Script]
) -> tuple[dict[Target, WitnessCell], int]:
    """The cells of a condition, and by how many the metric of damaged responses grew."""
    server.engine.set_steps("1" if step == UNSTREAMED else step)
    shipped = next(
        run
        for run in load_runs(FIXTURES / "matrix" / "stand-in")
        if (run.package, run.version, run.step) == (FRONT_END, version, step)
    )
    targets = [
        Target(endpoint, replace(script, stream=script.stream and step != UNSTREAMED))
        for script in scripts
        for endpoint in ENDPOINTS
        if (endpoint, script.name) in shipped.scores
    ]
    captures: dict[Target, Capture] = {}
    before = counted(server)
    record(server.base_url, targets, stream_interval=0, keep=captures.__setitem__)
    growth = counted(server) - before
    logged = verdicts(server)
    cells = {}
    for target, capture in captures.items():
        ids = {match for event in capture.events for match in _ID.findall(event.data)}
        verdict, errors = next((logged[response_id] for response_id in ids if response_id in logged), ("", 0))
        expected = shipped.scores[target.endpoint, target.script.name].outcome
        cells[target] = WitnessCell(
            expected.value, score(target.script, capture).outcome.value, verdict, errors
        )
    damaged = sum(count for (name, _, _), count in growth.items() if "damaged" in name)
    return cells, damaged
