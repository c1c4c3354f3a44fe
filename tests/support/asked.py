"""A request to a server through the registry of runs, and the capture that it leaves."""

from pathlib import Path

from inspector.analysis.audit import Kind
from inspector.capture.capture import Capture
from inspector.files.store import load
from inspector.inspection.inspection import inspect
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest
from inspector.net.runs.registry import Registry
from inspector.net.runs.run import LiveRun, RunState

__all__ = ["REQUEST", "ask", "kinds"]

REQUEST = LiveRequest(model="openai/gpt-oss-20b", prompt="Hello")


def ask(server: Server, folder: Path | None, request: LiveRequest = REQUEST) -> tuple[LiveRun, Capture]:
    registry = Registry(folder)
    run = registry.start(server, request)
    assert registry.wait(run, 120)
    assert run.state is RunState.ENDED
    if run.path is None or run.trouble:
        return run, run.capture()
    capture = load(run.path)
    assert capture.header.request["model"] == REQUEST.model
    assert list(capture.events) == list(run.events)
    return run, capture


def kinds(capture: Capture) -> set[Kind]:
    return {finding.kind for finding in inspect(capture).findings}
