"""Starts a server whose engine is a process of the lab, and reads that engine's log of steps."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final

from harmony_lab.install import Environment, Say
from harmony_lab.model import make_model, make_vocabulary
from harmony_lab.paths import LabPaths
from harmony_lab.process import ServerProcess, free_port
from harmony_lab.server import STANDALONE, ServerOptions, write_for_sampling
from harmony_lab.standin.checking import request_id_of
from harmony_lab.standin.serving import IMPORT_PATH, Served, is_request
from harmony_lab.standin.steps import schedule_of
from inspector.capture.capture import Capture, EventKind
from inspector.capture.errors import LabError
from inspector.matrix import scripts
from inspector.matrix.requests import SERVED_NAME

_LOG_WAIT_S: Final = 3.0
"""How long to wait for the log line of a stream whose response has ended."""


class ScriptedServer(ServerProcess):
    """A server with the log of its engine's steps."""

    def __init__(self, command: Sequence[str], *, steps_log: Path, **options: Any) -> None:
        super().__init__(command, **options)
        self.steps_log = steps_log

    def served(self, server_id: str) -> list[Served]:
        """The logged requests of a response's ID; waits a little for their lines."""
        until = time.monotonic() + _LOG_WAIT_S
        while True:
            requests = [request for request in self._logged() if is_request(request.request_id, server_id)]
            if requests or time.monotonic() > until:
                return requests
            time.sleep(0.05)

    def _logged(self) -> Iterator[Served]:
        if not self.steps_log.exists():
            return
        text = self.steps_log.read_text(encoding="utf-8")
        for line in text[: text.rfind("\n") + 1].splitlines():
            yield Served.of_line(line)


@contextmanager
def scripted_server(
    paths: LabPaths,
    environment: Environment,
    options: ServerOptions,
    *,
    module: str,
    more: Sequence[str] = (),
    variables: Mapping[str, str],
    ready: str,
    timeout_s: float,
    wait: bool,
    say: Say,
    kind: Callable[..., ScriptedServer] = ScriptedServer,
) -> Iterator[ScriptedServer]:
    """The process `module` with the lab's model and scripts; `ready` is the path of its health check.

    Raises LabError for options that only vLLM's servers have.
    """
    label = f"{environment.package} {environment.version}"
    if options.tools or options.load or options.flags:
        raise LabError(f"{label}: tool servers, load and flags are only for vLLM")
    if not (paths.models / "vocabulary").exists():
        say("creating the tiny model and its vocabulary (about 10 s, only once)")
    port = options.port or free_port()
    name = f"{environment.package}-{environment.version}-{port}"
    script_file = write_for_sampling(
        paths.root / "scripts" / f"{name}.json", [*scripts.load(), *options.extra_scripts]
    )
    steps_log = paths.logs / f"steps-{name}.jsonl"
    steps_log.parent.mkdir(parents=True, exist_ok=True)
    steps_log.write_text("", encoding="utf-8")
    command = [
        # The process ends with the lab, even if that is killed.
        *(sys.executable, str(STANDALONE / "bound.py"), sys.executable, "-m", module),
        *("--release", environment.version, "--folder", str(environment.path)),
        *("--model", str(make_model(paths.models, llama_body=False)), "--name", SERVED_NAME),
        *("--port", str(port), "--scripts", str(script_file)),
        *("--steps", options.steps, "--log", str(steps_log)),
        *more,
    ]
    server = kind(
        command,
        steps_log=steps_log,
        port=port,
        log=paths.logs / f"serve-{name}.log",
        environment={
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "TIKTOKEN_ENCODINGS_BASE": str(make_vocabulary(paths.models)),
            "HARMONY_LAB_PARENT": str(os.getpid()),
            "PYTHONPATH": IMPORT_PATH,
            "PYTHONUNBUFFERED": "1",
            **variables,
        },
        health=ready,
        timeout_s=timeout_s,
        grace_s=3,
        wait=wait,
        say=say,
    )
    try:
        with server:
            yield server
    finally:
        script_file.unlink(missing_ok=True)


def stream_fault(server: ServerProcess, capture: Capture, schedule: str) -> str | None:
    """Why a stream cannot be scored: it has not the scheduled steps, or the server merged some.

    A server may hold a call back until it is complete, and then sends several steps as one event. So with
    tools fewer events than steps are no fault; a merge cannot be distinguished there.
    """
    if not isinstance(server, ScriptedServer):
        raise LabError(f"{server.base_url} has no log of its engine's steps")
    header = capture.header
    if (header.status or 0) >= 400 or not header.request.get("stream"):
        return None
    server_id = request_id_of(capture)
    if server_id is None:
        return None if not capture.events else "no event says the request's id"
    served = server.served(server_id)
    if not served:
        return f"the engine's log has no stream {server_id}"
    steps = served[0].steps
    sizes = [len(step) for step in steps]
    scheduled = list(islice(schedule_of(schedule).sizes(), len(sizes)))
    if served[0].schedule != schedule or sizes[:-1] != scheduled[:-1] or sizes[-1] > scheduled[-1]:
        return f"the engine did not follow the schedule {schedule}"
    events = step_events(capture)
    if events < len(steps) and not header.request.get("tools"):
        return f"{len(steps)} steps arrived as {events} events"
    return None


def step_events(capture: Capture) -> int:
    """The events with a choice: one for each step, if none was merged."""
    count = 0
    for event in capture.events:
        if event.kind is EventKind.SSE and event.data != "[DONE]":
            try:
                count += bool(json.loads(event.data)["choices"])
            except (ValueError, KeyError, TypeError):
                continue
    return count
