"""A few requests to a server at intervals, audited into the same metrics as those of a tap."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Final

from inspector.analysis.audit.outcome import ResponseOutcome
from inspector.capture.capture import Endpoint
from inspector.capture.errors import InspectorError, StoreError
from inspector.files.recording import Unwritten, unwritten_in_memory
from inspector.fleet.watch.auditing import Watch
from inspector.fleet.watch.metrics import Metrics
from inspector.fleet.watch.redacting import write_redacted
from inspector.fleet.watch.summary import StreamSummary
from inspector.net.client.address import Server
from inspector.net.client.outcome import OutcomeKind
from inspector.net.client.questions import PROMPT, TOOL_PROMPT, WEATHER
from inspector.net.client.request import LiveRequest
from inspector.net.runs.registry import Registry
from inspector.net.runs.run import LiveRun
from inspector.net.tap.folder import file_name

_NO_RESPONSE: Final = frozenset(
    {
        OutcomeKind.KEY_REJECTED,
        OutcomeKind.NO_API,
        OutcomeKind.NO_ENDPOINT,
        OutcomeKind.NO_MODEL,
        OutcomeKind.NOT_REACHED,
        OutcomeKind.RATE_LIMITED,
        OutcomeKind.REDIRECTED,
    }
)
"""Outcomes that say nothing about the parser of the server."""
_FAILING: Final = frozenset({ResponseOutcome.DAMAGED, ResponseOutcome.FAILED, ResponseOutcome.REJECTED})
_MAX_TOKENS: Final = 512
_ANSWER_WITHIN_S: Final = 120.0


def usual_requests(model: str) -> list[LiveRequest]:
    """Reasoning with a final answer on chat and Responses, and a tool call on chat; temperature 0."""
    text = LiveRequest(
        model=model, prompt=PROMPT, max_tokens=_MAX_TOKENS, temperature=0.0, reasoning_effort="low"
    )
    call = replace(text, prompt=TOOL_PROMPT, tools=[WEATHER], tool_choice="auto")
    return [text, call, replace(text, endpoint=Endpoint.RESPONSES)]


class Canary:
    """Sends its requests to one server, one after another, in each round.

    Recordings go to `folder`, with `redact` without their text; `say` receives a line for each request
    without a response and for each response that is damaged or failed, `name` is the label `upstream` of the
    results.
    """

    def __init__(
        self,
        server: Server,
        requests: Sequence[LiveRequest],
        folder: Path,
        watch: Watch,
        metrics: Metrics,
        *,
        name: str = "canary",
        say: Callable[[str], None] = lambda _: None,
        redact: bool = False,
    ) -> None:
        self._server = replace(server, silence_s=min(server.silence_s, _ANSWER_WITHIN_S))
        self._requests = list(requests)
        self._registry = Registry(None if redact else folder)
        self._folder = folder if redact else None
        self._watch = watch
        self._metrics = metrics
        self._say = say
        self._name = name
        self._faulty = Event()
        self._running: LiveRun | None = None
        self._stopped = False

    @property
    def faulty(self) -> bool:
        """Whether any line was said so far; complete once the audits have ended."""
        return self._faulty.is_set()

    def once(self) -> None:
        """One round of requests."""
        for request in self._requests:
            if self._stopped:
                return
            self._running = run = self._registry.start(self._server, request)
            if not self._registry.wait(run, 2 * _ANSWER_WITHIN_S):
                run.stop()
                self._registry.wait(run)
            self._ended(run)

    def stop(self) -> None:
        """Stop the current request, and send no more."""
        self._stopped = True
        if self._running is not None:
            self._running.stop()

    def _ended(self, run: LiveRun) -> None:
        kind = run.outcome.kind
        if kind is OutcomeKind.STOPPED_BY_USER:
            return
        if kind in _NO_RESPONSE or (run.outcome.failed and not run.events):
            self._report(run.outcome.failure)
            self._metrics.failed(self._name, str(kind))
            if run.path is not None:
                with suppress(OSError):
                    run.path.unlink()
            return
        recorded = run.recorded() if self._folder is None else self._redacted(run, self._folder)
        if isinstance(recorded, Unwritten):
            self._report(str(recorded.error))
            self._watch.unwritten(self._name, recorded, partial(self._audited, recorded.path))
        elif recorded is not None:
            self._watch.ended(self._name, recorded, partial(self._audited, recorded))

    def _audited(self, path: Path, summary: StreamSummary) -> None:
        if summary.outcome in _FAILING:
            self._report(f"{summary.outcome}, {summary.endpoint}: {summary.sentence} ({path})")

    def _report(self, line: str) -> None:
        self._faulty.set()
        self._say(line)

    def _redacted(self, run: LiveRun, folder: Path) -> Path | Unwritten | None:
        """Write a run that was held in memory, without its text; None if that cannot be replaced."""
        path = folder / file_name(run.header)
        try:
            write_redacted(run.capture(), path)
        except StoreError as error:
            return unwritten_in_memory(error, path, run.capture, characters=run.characters)
        except InspectorError as error:
            self._report(str(error))
            self._metrics.unaudited(self._name, "not redacted")
            return None
        self._registry.forget(run)
        return path
