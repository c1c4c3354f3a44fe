"""`/inspector/runs/<id>/feed?from=N`: a run's growth as server-sent events that a browser can resume.

Events: `grow` (columns for the strip; its ID is the number of cells sent so far, so `Last-Event-ID` says
where to resume), and one `end`. Serves same-origin pages only.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from inspector.analysis.audit import Finding, transmission_of
from inspector.analysis.audit.rejection import is_rejection
from inspector.inspection.inspection import Examined
from inspector.net.runs.registry import Registry
from inspector.net.runs.run import LiveRun, Look, Pace, RunState
from inspector.views.encoding import json_bytes
from inspector.views.payload import CellSpan, FindingRow, Increment, PaceRow, Pipeline
from inspector.views.strip.findings import strip_finding
from inspector.views.strip.growth import Growth, stream_position, unchanged
from inspector.views.strip.pipeline import changes, same_items
from inspector.views.strip.unsent import rejected_span

BATCH_S: Final = 0.025
"""Tokens that arrive within this time are sent together."""

QUIET_S: Final = 15.0
"""After this silence a comment is sent, so that no proxy drops the connection."""

_PACE_EACH_S: Final = 0.1


def runs_routes(registry: Registry, base: str = "") -> list[BaseRoute]:
    """Routes to mount beside the dashboard, below the path `base`."""

    async def feed(request: Request) -> Response:
        if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
            return JSONResponse({"error": "only the dashboard's own pages can read runs"}, 403)
        run = registry.get(request.path_params["run"])
        if run is None:
            return JSONResponse({"error": "this run is no longer in memory; its capture is on disk"}, 404)
        start = request.headers.get("last-event-id") or request.query_params.get("from", "0")
        lines = _Feed(registry, run, int(start) if start.isdecimal() and len(start) < 10 else 0).lines()
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(lines, media_type="text/event-stream", headers=headers)

    return [Route(base + "/inspector/runs/{run}/feed", feed, methods=["GET"])]


class _Feed:
    """One browser tab's view of one run."""

    def __init__(self, registry: Registry, run: LiveRun, start: int) -> None:
        self._registry = registry
        self._run = run
        self._growth = Growth(start)
        self._look: Look | None = None
        self._picture: Pipeline | None = None
        """The picture that the reader has."""
        self._findings: list[FindingRow] = []
        self._paced_at = 0.0

    async def lines(self) -> AsyncIterator[str]:
        run = self._run
        watch = run.watch()
        try:
            yield "retry: 500\n\n"
            while True:
                ended = run.state is RunState.ENDED
                due_s = self._registry.audit_soon(run)
                grown = self._grown(ended=ended)
                if grown is not None:
                    yield self._message("grow", grown)
                    await asyncio.sleep(0)
                    if grown["more"]:
                        continue
                look = run.look
                if look is not None and look is not self._look and (ended or not look.final):
                    yield self._message("grow", self._audited(look))
                if ended and self._look is not None and self._look.final:
                    yield self._message("end", self._ended())
                    return
                if await watch.changed(QUIET_S if due_s is None else min(due_s, QUIET_S)):
                    await asyncio.sleep(BATCH_S)
                elif due_s is None:
                    yield ": nothing new\n\n"
        finally:
            run.unwatch(watch)

    def _message(self, name: str, content: Mapping[str, object]) -> str:
        return f"id: {self._growth.count}\nevent: {name}\ndata: {json_bytes(content).decode()}\n\n"

    def _grown(self, *, ended: bool) -> Increment | None:
        run = self._run
        with run.lock:
            reading = run.live()
            choice = reading.choice
            stopped = transmission_of(reading, {}).rejection
            columns = self._growth.step(choice, run.events.at_s, stopped, ended=ended)
            if columns is None:
                return None
            columns["now"] = stream_position(choice, len(run.events))
            columns["more"] = self._growth.more
        if columns["from"] == 0:
            # The stream starts over, so the reader has nothing of it yet.
            self._look, self._picture, self._findings = None, None, []
        if not columns["more"] and time.monotonic() - self._paced_at > _PACE_EACH_S:
            columns["pace"] = pace_row(run.pace())
            self._paced_at = time.monotonic()
        return columns

    def _audited(self, look: Look) -> Increment:
        """The result of an audit, in columns that add no cell."""
        self._look = look
        columns = unchanged(self._growth.count, self._growth.unit)
        choice = look.examined.reading.choice
        tokens = choice.has_ids or choice.rebuilt is not None
        # What is lost among pieces is known at the end; until then each arrived in the field of its block.
        if self._growth.unit == "token" if tokens else (self._growth.unit == "piece" and look.final):
            columns["pipelines"] = [changes(self._picture, look.picture)]
            self._picture = look.picture
        rows = [
            strip_finding(finding, look.examined.situation, self._span(finding, look.examined))
            for finding in look.examined.findings
        ]
        kept = same_items(self._findings, rows)
        columns["findings"] = {"from": kept, "items": rows[kept:]}
        self._findings = rows
        columns["verdict"] = {
            "level": str(look.examined.verdict.level),
            "sentence": look.examined.verdict.sentence,
            "why": look.examined.verdict.why,
            "known": look.examined.verdict.known,
        }
        columns["audited"] = look.tokens
        return columns

    def _span(self, finding: Finding, examined: Examined) -> CellSpan:
        """The cells of a rejection; other findings are placed by their tokens."""
        if examined.rejection is None or not is_rejection(finding):
            return {}
        return rejected_span(examined.rejection, self._growth.sent)

    def _ended(self) -> dict[str, Any]:
        run = self._run
        return {
            "count": self._growth.count,
            "failure": run.outcome.failure,
            "notes": list(run.outcome.notes),
            "pace": pace_row(run.pace()),
        }


def pace_row(pace: Pace) -> PaceRow:
    """The metrics of a run, as the page receives them."""
    return {
        "tokens": pace.tokens,
        "events": pace.events,
        "tokens_per_s": pace.tokens_per_s,
        "first_token_s": pace.first_token_s,
        "last_token_s": pace.last_token_s,
        "gap_p50_s": pace.gap_p50_s,
        "gap_p95_s": pace.gap_p95_s,
    }
