"""Records one response that passes through the tap, without the keys of its request.

The sink is opened when the status or a failure is known. A recording that fails stops; it never affects what
the client receives.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import httpx

from inspector.capture.capture import ClosedBy, Endpoint, traceparent_in
from inspector.capture.redaction import redact
from inspector.net.client.recorder import Recorder, Sink
from inspector.net.client.secrets import secrets_of, without_secrets
from inspector.net.client.transport import header_of
from inspector.net.tap.headers import header_value
from inspector.protocol.wire.stream import loads

_LOG: Final = logging.getLogger(__name__)


class ResponseRecording:
    """Records one response; calls after `close` do nothing."""

    def __init__(
        self,
        endpoint: Endpoint,
        raw: bytes,
        headers: Sequence[tuple[bytes, bytes]],
        sink: Sink,
        *,
        source: str,
        clock: Callable[[], float],
        query: bytes = b"",
    ) -> None:
        self.body: Any = loads(raw.decode("utf-8", "replace")) if raw else None
        """The request's JSON; None when it has none."""
        traceparent = traceparent_in(header_value(headers, b"traceparent"))
        self._header = replace(header_of(endpoint, raw, source=source), traceparent=traceparent)
        self._sink = without_secrets(sink, secrets_of(headers, self.body, redact(self.body), query))
        self._now_s = self._begun_s = clock()
        self._clock = clock
        self._recorder: Recorder | None = None
        self._stopped = False

    def response(self, response: httpx.Response, version: str | None, owned_by: str | None = None) -> None:
        """Status and headers of the response arrived."""
        self._now_s = self._clock()
        self._guarded(lambda: self._made(version, owned_by).response(response.status_code, response.headers))

    def chunk(self, raw: bytes, at_s: float) -> Iterator[None]:
        """A chunk arrived at `at_s`; records it in steps, between which the event loop may run."""
        self._now_s = at_s
        if self._recorder is None or self._stopped:
            return
        try:
            yield from self._recorder.steps(raw)
        except Exception:
            self._failed()

    def close(
        self,
        detail: str,
        version: str | None,
        owned_by: str | None = None,
        *,
        closed_by: ClosedBy | None = None,
    ) -> None:
        """The response ended; `detail` says what cut it, empty if it is complete."""
        self._now_s = self._clock()
        self._guarded(lambda: self._made(version, owned_by).close(detail, closed_by=closed_by))
        self._stopped = True

    def _made(self, version: str | None, owned_by: str | None) -> Recorder:
        if self._recorder is None:
            now_s, self._now_s = self._now_s, self._begun_s
            header = replace(self._header, server_version=version, owned_by=owned_by)
            self._recorder = Recorder(header, self._sink, clock=lambda: self._now_s)
            self._now_s = now_s
        return self._recorder

    def _guarded(self, step: Callable[[], None]) -> None:
        if self._stopped:
            return
        try:
            step()
        except Exception:
            self._failed()

    def _failed(self) -> None:
        # A failing sink must not end a client's response.
        self._stopped = True
        _LOG.exception("recording stopped")
