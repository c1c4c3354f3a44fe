"""The probes of this process; they run in the event loop of all requests, independent of pages."""

import secrets
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from threading import Event as Flag
from threading import Lock
from typing import Final

from inspector.capture.errors import InspectorError
from inspector.fleet.probe import Plan, Probe
from inspector.net.runs.registry import Registry, registry

KEPT: Final = 8
"""Probes that are kept with all their rows; the oldest that has ended is forgotten."""


class ProbeRun:
    """One probe of a page."""

    def __init__(self, name: str, plan: Plan, started_at: datetime) -> None:
        self.id = name
        self.started_at = started_at
        self.plan = plan
        self.probe: Probe | None = None
        """None until its servers have reported version and models."""
        self.trouble = ""
        """Why it did not begin; empty otherwise."""
        self._done = Flag()
        self.stop: Callable[[], None] = lambda: None
        """End it; what is done stays."""

    @property
    def ended(self) -> bool:
        """True once it has ended."""
        return self._done.is_set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Block until it has ended; False on a timeout."""
        return self._done.wait(timeout_s)

    @property
    def resumable(self) -> bool:
        """Whether the plan can be resumed: it was stopped, and its rows are in a folder."""
        return self.ended and self.probe is not None and self.probe.stopped and self.plan.folder is not None

    async def drive(self) -> None:
        """Run the plan to its end."""
        try:
            self.probe = await self.plan.prepared()
            await self.probe.run()
        except InspectorError as error:
            self.trouble = str(error)
        finally:
            self._done.set()


class Probes:
    """All probes; every method may be called from any thread."""

    def __init__(self, runs: Registry) -> None:
        self._runs = runs
        self._lock = Lock()
        self._probes: dict[str, ProbeRun] = {}

    def start(self, plan: Plan) -> ProbeRun:
        """Start a probe; without a folder in the plan it gets one beside the captures of live runs.

        The plan of a stopped run resumes it.
        """
        now = datetime.now(UTC)
        name = f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        if plan.folder is None and self._runs.folder is not None:
            plan = replace(plan, folder=self._runs.folder / f"probe-{name}")
        run = ProbeRun(name, plan, now)
        with self._lock:
            self._probes[run.id] = run
            ended = [name for name, probe_run in self._probes.items() if probe_run.ended]
            for name in ended[: max(0, len(self._probes) - KEPT)]:
                del self._probes[name]
        future: Future[None] = self._runs.submit(run.drive())
        run.stop = lambda: _cancel(future)
        return run

    def get(self, name: str) -> ProbeRun | None:
        """The probe with this ID; None if there is none, or it was forgotten."""
        with self._lock:
            return self._probes.get(name)

    def runs(self) -> list[ProbeRun]:
        """The probes that are kept, the newest first."""
        with self._lock:
            return [*reversed(self._probes.values())]


def _cancel(future: "Future[None]") -> None:
    future.cancel()


@cache
def probes() -> Probes:
    """The probes of this process."""
    return Probes(registry())
