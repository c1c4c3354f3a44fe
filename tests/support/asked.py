"""A request to a server through the registry of runs, and the capture that it leaves."""

from pathlib import Path

from inspector.audit import Kind
from inspector.capture import Capture
from inspector.client.address import Server
from inspector.client.request import LiveRequest
from inspector.inspection import inspect
from inspector.runs.registry import Registry
from inspector.runs.run import Run, RunState
from inspector.store import load

__all__ = ["REQUEST", "ask", "kinds"]

REQUEST = LiveRequest(model="openai/gpt-oss-20b", prompt="Hello")


def ask(server: Server, folder: Path | None, request: LiveRequest = REQUEST) -> tuple[Run, Capture]:
    registry = Registry(folder)
    run = registry.start(server, request)
    assert registry.wait(run, 20)
    assert run.state is RunState.ENDED
    if run.path is None or run.trouble:
        return run, run.capture()
    [capture] = load(run.path)
    assert capture.header.request["model"] == REQUEST.model
    assert list(capture.events) == list(run.events)
    return run, capture


def kinds(capture: Capture) -> set[Kind]:
    return {finding.kind for finding in inspect(capture).findings}
