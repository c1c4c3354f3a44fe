"""One live request through the openai client, recorded; failures are returned as an outcome, never raised.

Import this module where a request is sent: loading the openai client takes longer than drawing a page.
"""

import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast
from urllib.parse import quote

import httpx
import openai

from inspector.capture.capture import STOPPED
from inspector.capture.errors import ConnectionFailed
from inspector.net.client.address import Server
from inspector.net.client.failures import connection_failure, error_message, refusal, unfinished
from inspector.net.client.ground_truth import answer_room, rendered_prompt
from inspector.net.client.outcome import OutcomeKind, Problem, RequestOutcome
from inspector.net.client.recorder import Recorder, Sink
from inspector.net.client.redirects import within_host
from inspector.net.client.request import LiveRequest, body
from inspector.net.client.secrets import without_secrets
from inspector.net.client.server_info import open_client, timeouts, transport_to
from inspector.net.client.transport import AsyncRecordingTransport, content_of, header_of, secrets_in
from inspector.protocol.engines import engine_of
from inspector.protocol.wire.endpoints import spec_of

RESUMES: Final = 3
"""How often a broken background stream is resumed."""

_DRAIN_S: Final = 1.0
"""Seconds in which the rest of a response is read after the client stopped reading."""
_ROOM: Final = 4096
"""`max_tokens` of a rendered prompt where the server does not report its context length."""
_UNKNOWN_KEY: Final = ("extra inputs", "extra fields", "unrecognized", "unknown parameter", "not permitted")


async def ask(
    server: Server,
    request: LiveRequest,
    sink: Sink,
    *,
    server_version: str | None = None,
    owned_by: str | None = None,
    inner: httpx.AsyncBaseTransport | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> RequestOutcome:
    """Send a request and record its stream into `sink` until it ends.

    If a server rejects `return_token_ids`, the request is sent again without it. Cancelling the task closes
    the connection; everything received so far is in the sink.
    """
    notes: list[str] = []
    server_facts = {"server_version": server_version, "owned_by": owned_by}
    try:
        async with open_client(server, inner) as plain:
            renders = spec_of(request.endpoint).raw
            if renders and not request.prompt_ids:
                rendered = await rendered_prompt(server, request, plain)
                notes.append(rendered.source)
                request = replace(request, prompt_ids=rendered.ids)
            if renders and request.max_tokens is None:
                room = await answer_room(server, request, plain)
                if room is None:
                    room = _ROOM
                    notes.append(
                        f"The server does not report its context length; max_tokens was set to {room:,}."
                    )
                request = replace(request, max_tokens=room)
        exchange = _Exchange(server, request, sink, server_facts=server_facts, inner=inner, clock=clock)
        problem = await exchange.run()
        if exchange.rejects_evidence:
            notes.append(
                f"The server rejected {' and '.join(exchange.evidence_keys)} "
                f"({error_message(exchange.recorder.body)}). "
                "The request was sent again without it, so the model's tokens are unknown."
            )
            request = replace(request, token_ids=False)
            exchange = _Exchange(server, request, sink, server_facts=server_facts, inner=inner, clock=clock)
            problem = await exchange.run()
    except ConnectionFailed as error:
        return RequestOutcome.raised(error, tuple(notes))
    return RequestOutcome.of(problem, tuple(notes))


class _Exchange:
    """One request and its response."""

    def __init__(
        self,
        server: Server,
        request: LiveRequest,
        sink: Sink,
        *,
        server_facts: Mapping[str, str | None],
        inner: httpx.AsyncBaseTransport | None,
        clock: Callable[[], float],
    ) -> None:
        self.server = server
        self.request = request
        self.rejects_evidence = False
        self._engine = engine_of(
            owned_by=server_facts["owned_by"], version=server_facts["server_version"], address=server.v1
        )
        self.body = body(request, self._engine)
        self.spec = spec_of(request.endpoint)
        self.evidence_keys = [key for key in self._engine.evidence_request(self.spec) if key in self.body]
        self._inner = inner
        self._response_id: str | None = None
        self._sequence: int | None = None
        self._server_facts = server_facts
        self._sink = sink
        self._clock = clock
        self.recorder = self._recorder(b"{}")

    async def run(self) -> Problem | None:
        """Send it and read to the end; returns what went wrong, or None."""
        problem: Problem | None = None
        transport = AsyncRecordingTransport(
            self._record, self._inner or transport_to(self.server), drain_s=_DRAIN_S
        )
        timeout = timeouts(self.server)
        async with (
            httpx.AsyncClient(
                transport=transport,
                timeout=timeout,
                follow_redirects=True,
                event_hooks=within_host(self.server),
            ) as http,
            openai.AsyncOpenAI(
                base_url=self.server.v1,
                api_key=self.server.api_key or "none",
                default_headers={**self.spec.headers, **self.server.headers},
                http_client=cast(Any, http),
                max_retries=0,
            ) as client,
        ):
            try:
                problem = await self._consume(self._create(client))
                for _ in range(RESUMES):
                    if not self._broken():
                        break
                    self.recorder.keep_open = self.recorder.keep_open and bool(self._response_id)
                    problem = await self._consume(self._resume(client))
            finally:
                self.recorder.keep_open = False
                self.recorder.close(problem.sentence if problem else STOPPED, stopped=problem is None)
        return None if self.rejects_evidence else problem or unfinished(self.recorder, self.server, self.spec)

    async def _consume(self, stream: AsyncIterator[object]) -> Problem | None:
        """Read the stream through the openai client; returns what went wrong, or None."""
        try:
            async for event in stream:
                self._follow(event)
        except openai.APIStatusError as error:
            return refusal(
                error.status_code,
                self.recorder.body,
                self.server,
                path=self.spec.path,
                model=self.request.model,
            )
        except (openai.APIConnectionError, httpx.TransportError, ssl.SSLError) as error:
            return connection_failure(error, self.server, begun=self.recorder.events > 0)
        except openai.APIError as error:
            sentence = f"{self.server.root} reported an error in the stream: {error.message}"
            return Problem(OutcomeKind.STREAM_ERROR, sentence, error.message)
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            # Content never raises here, but it may in the openai client, which users should know.
            words = f"{type(error).__name__}: {error}"
            sentence = f"the openai client failed on the stream of {self.server.root}: {words}"
            return Problem(OutcomeKind.CLIENT_FAILED, sentence)
        return None

    async def _create(self, client: openai.AsyncOpenAI) -> AsyncIterator[object]:
        # `object` leaves events as JSON: building the client's models would take longer than everything else.
        path = self.spec.path
        sent = client.post(
            path, body=self.body, cast_to=object, stream=True, stream_cls=openai.AsyncStream[object]
        )
        async with await sent as stream:
            async for event in stream:
                yield event

    async def _resume(self, client: openai.AsyncOpenAI) -> AsyncIterator[object]:
        after = "" if self._sequence is None else f"&starting_after={self._sequence}"
        sent = client.get(
            f"{self.spec.path}/{quote(self._response_id or '', safe='')}?stream=true{after}",
            cast_to=object,
            stream=True,
            stream_cls=openai.AsyncStream[object],
        )
        async with await sent as stream:
            async for event in stream:
                yield event

    def _follow(self, event: object) -> None:
        if self.request.background and isinstance(event, dict):
            response = event.get("response")
            response_id = response.get("id") if isinstance(response, dict) else None
            self._response_id = response_id if isinstance(response_id, str) else self._response_id
            number = event.get("sequence_number")
            self._sequence = number if isinstance(number, int) else self._sequence

    def _broken(self) -> bool:
        recorder = self.recorder
        whole = recorder.done or bool(recorder.unread)
        return self.request.background and self._response_id is not None and not whole

    def _record(self, request: httpx.Request) -> Recorder:
        if request.method == "POST":
            self.recorder = self._recorder(content_of(request), secrets_in(request))
            self.recorder.keep_open = self.request.background
        return self.recorder

    def _recorder(self, content: bytes, secrets: Sequence[str] = ()) -> Recorder:
        header = header_of(self.request.endpoint, content, source="live request", **self._server_facts)
        sink = without_secrets(self._sink, secrets)
        return Recorder(header, sink, unwanted=self._rejects_evidence, clock=self._clock)

    def _rejects_evidence(self, status: int, response_body: str) -> bool:
        words = response_body.lower()
        brought = any(path.rpartition(".")[2] in words for path in self._engine.ids_at)  # in an error too
        self.rejects_evidence = (
            status in {400, 422}
            and bool(self.evidence_keys)
            and not brought
            and any(sign in words for sign in (*self.evidence_keys, *_UNKNOWN_KEY))
        )
        return self.rejects_evidence
