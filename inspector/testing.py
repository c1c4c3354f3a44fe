"""For the tests of other programs: a server that replays gpt-oss streams with faults, and an assertion.

The pytest plugin (`harmony_inspector_pytest`) makes fixtures of these; docs/pytest.md has examples.
"""

import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path

import httpx
from starlette.applications import Starlette

from inspector.analysis.audit import Finding, Severity, explain, kind_and_key
from inspector.capture.capture import Capture, Endpoint
from inspector.capture.errors import InspectorError
from inspector.commands.serving import uvicorn_server
from inspector.files.store import builtin, load
from inspector.inspection.inspection import inspect
from inspector.matrix.results import named_capture
from inspector.net.playback import PlaybackSettings, playback_routes
from inspector.net.sockets import without_delay

__all__ = ["HarmonyServer", "assert_no_findings", "serving"]

_NAME = "played"


class HarmonyServer:
    """An OpenAI-compatible server that answers every request with the capture passed to `play`."""

    def __init__(self, address: str, shelf: dict[str, Capture]) -> None:
        self.base_url = f"{address}/v1"
        """For `OpenAI(base_url=...)`; any model name and any key are accepted."""
        self._control = f"{address}/control"
        self._shelf = shelf
        self.reset()

    def play(
        self, capture: Capture | Path | str, *, faults: str = "", tokens_per_s: float | None = None
    ) -> Capture:
        """Answer with this capture from now on, and return it.

        `capture` is a capture, a file, or the name of a built-in capture or of one of the matrix
        (`vllm-frontend-0.33.0-si1/chat-tool_call`). `faults` are those of docs/playback.md, separated by
        commas. Without `tokens_per_s` the whole response is sent at once, event by event. Raises
        InspectorError for a capture that does not exist and faults that cannot be read.
        """
        chosen = _capture_of(capture)
        self._shelf[_NAME] = chosen
        pace = "" if tokens_per_s is None else str(tokens_per_s)
        settings = {"capture": _NAME, "faults": faults or "none", "tokens_per_s": pace}
        answer = httpx.put(self._control, json=settings, trust_env=False)
        if answer.is_error:
            raise InspectorError(answer.json()["error"]["message"])
        return chosen

    def reset(self) -> None:
        """Play the default: a complete chat response, without faults."""
        row = next(row for row in builtin() if row.endpoint is Endpoint.CHAT and row.tokens_per_step == 1)
        self.play(row.name)


@contextmanager
def serving() -> Iterator[HarmonyServer]:
    """Serve on a free port of this machine while the context lasts."""
    shelf: dict[str, Capture] = {}
    app = Starlette(routes=playback_routes(lambda: shelf, prefix="", settings=PlaybackSettings(speed=inf)))
    server = uvicorn_server(app)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        without_delay(listening)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield HarmonyServer(f"http://127.0.0.1:{listening.getsockname()[1]}", shelf)
        finally:
            server.should_exit = True
            thread.join(10)


def assert_no_findings(
    capture: Capture | Path | str, *, allow: Iterable[str] = (), warnings: bool = True
) -> None:
    """Raise AssertionError if the audit finds something, with the sentence of each finding.

    `allow` has kinds, codes or ids of known issues that may be found; without `warnings` only findings of
    severity error count.
    """
    __tracebackhide__ = True
    inspection = inspect(_capture_of(capture))
    allowed = {str(name) for name in allow}
    findings = [finding for finding in inspection.findings if not _names(finding) & allowed]
    if not warnings:
        findings = [finding for finding in findings if finding.severity is Severity.ERROR]
    if findings:
        lines = [
            f"  {finding.severity} {kind_and_key(finding.kind)}: {explain(finding)}" for finding in findings
        ]
        raise AssertionError("\n".join([inspection.verdict.sentence, *lines]))


def _names(finding: Finding) -> set[str]:
    return {str(finding.kind), str(finding.code), *finding.known_issues}


def _capture_of(capture: Capture | Path | str) -> Capture:
    if isinstance(capture, Capture):
        return capture
    if isinstance(capture, str):
        row = next((row for row in builtin() if row.name == capture), None)
        if row is not None:
            return load(row.path)
        if "/" in capture and (matrix_capture := named_capture(capture)) is not None:
            return matrix_capture
    return load(capture)
