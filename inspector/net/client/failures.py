"""Connection failures and HTTP errors: the kind, and one sentence with the fix.

The sentence explains the error and keeps the transport's own message.
"""

import json
import ssl
from collections.abc import Iterator
from typing import Any, Final

import httpx

from inspector.capture.formats import clip
from inspector.net.client.address import Server
from inspector.net.client.outcome import OutcomeKind, Problem
from inspector.net.client.recorder import Recorder
from inspector.net.client.redirects import Redirected
from inspector.protocol.wire.endpoints import EndpointSpec
from inspector.protocol.wire.stream import loads

_MESSAGE_AT_MOST: Final = 300


def connection_failure(error: BaseException, server: Server, *, begun: bool = False) -> Problem:
    """A connection failure; `begun` if part of the response had arrived."""
    causes = list(_causes(error))
    words = _innermost(causes)
    for cause in causes:
        if isinstance(cause, Redirected):
            return Problem(OutcomeKind.REDIRECTED, str(cause))
        if isinstance(cause, httpx.ConnectTimeout | httpx.PoolTimeout):
            return Problem(
                OutcomeKind.TIMED_OUT,
                f"{server.root} did not accept a connection within {server.connect_s:g} s; "
                + ("does it speak TLS? " if server.root.startswith("https:") else "")
                + "check the host and any firewall",
            )
        if isinstance(cause, httpx.TimeoutException):
            symptom = "the stream stalled: no data" if begun else "no response"
            return Problem(
                OutcomeKind.TIMED_OUT,
                f"{server.root}: {symptom} for {server.silence_s:g} s; "
                f"check the server's log, or {server.settings.silence}",
            )
        if isinstance(cause, ssl.SSLError) or "SSL" in str(cause) or "CERTIFICATE" in str(cause):
            return Problem(OutcomeKind.NOT_REACHED, _tls(words, server))
    if begun:
        sentence = f"{server.root} closed the connection in the middle of the response ({words})"
        return Problem(OutcomeKind.BROKEN_OFF, sentence)
    return Problem(OutcomeKind.NOT_REACHED, _unreached(words, server))


def _unreached(words: str, server: Server) -> str:
    lower = words.lower()
    if "refused" in lower or "connect call failed" in lower or "all connection attempts failed" in lower:
        return f"connection refused at {server.root} ({words}); is the server running? Check host and port"
    if any(sign in lower for sign in ("name or service", "nodename", "getaddrinfo", "name resolution")):
        return f"unknown host name in {server.root} ({words}); check the spelling"
    if "illegal status line" in lower or "illegal" in lower:
        return f"{server.root} does not speak HTTP ({words}); check the port, or try https://"
    if "without sending a response" in lower or "closed" in lower or "reset" in lower:
        return f"{server.root} closed the connection without a response ({words}); check the port, or try https://"
    return f"{server.root} cannot be reached ({words})"


def refusal(status: int, body: str, server: Server, *, path: str, model: str = "") -> Problem:
    """What an HTTP status of 400 or above means, or a response that does not come from the API."""
    words = error_message(body)
    if status in {401, 403}:
        return Problem(
            OutcomeKind.KEY_REJECTED,
            f"{server.root} rejected the API key (HTTP {status}: {words}); {server.settings.key}",
            words,
        )
    if status == 404 and "model" in words.lower():
        named = f" {model!r}" if model else ""
        problem = f"{server.root} does not serve the model{named}"
        sentence = f"{problem} (HTTP 404: {words}); use a name from its /v1/models"
        return Problem(OutcomeKind.NO_MODEL, sentence, words)
    if status == 501:
        return Problem(OutcomeKind.NO_ENDPOINT, f"{server.root} does not serve {path} (HTTP 501)", words)
    if status in {404, 405}:
        sentence = f"{server.v1} has no {path} (HTTP {status}); check the address: most of them end in /v1"
        return Problem(OutcomeKind.NO_ENDPOINT, sentence, words)
    if status < 400:
        return Problem(
            OutcomeKind.NO_API,
            f"{server.v1}{path} did not return an API response ({words}); "
            "check the address: another program may be listening there",
            words,
        )
    if status == 429:
        sentence = f"{server.root} received too many requests (HTTP 429: {words}); wait, or reduce the load"
        return Problem(OutcomeKind.RATE_LIMITED, sentence, words)
    whose = "rejected the request" if status < 500 else "failed"
    kind = OutcomeKind.REQUEST_REJECTED if status < 500 else OutcomeKind.SERVER_FAILED
    return Problem(kind, f"{server.root} {whose} (HTTP {status}: {words})", words)


def unfinished(recorder: Recorder, server: Server, spec: EndpointSpec) -> Problem | None:
    """The failure of a response that ended without one being raised; None for one that is complete."""
    if recorder.unread:
        return Problem(OutcomeKind.UNREADABLE, f"{server.root}: {recorder.unread}")
    if recorder.body:
        payload = loads(recorder.body)
        if not isinstance(payload, dict) or spec.generated_key not in payload:
            return refusal(recorder.status or 200, recorder.body, server, path=spec.path)
        return None
    if not recorder.done:
        sentence = f"{server.root} ended the stream without {spec.end}"
        return Problem(OutcomeKind.NO_TERMINAL_EVENT, sentence)
    return None


def error_message(body: str) -> str:
    """The message of an error body, in one line; web pages are not quoted."""
    try:
        parsed: Any = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict):
        inner = parsed.get("error", parsed)
        message = inner.get("message", inner.get("detail")) if isinstance(inner, dict) else inner
        if message is not None:
            body = message if isinstance(message, str) else json.dumps(message)
    elif body.lstrip()[:1] == "<":
        return "a web page, not JSON"
    line = " ".join(body.split())
    return clip(line, _MESSAGE_AT_MOST) or "no message"


def _tls(words: str, server: Server) -> str:
    if "WRONG_VERSION_NUMBER" in words or "record layer failure" in words.lower():
        return f"{server.root} does not speak TLS ({words}); use http://"
    if "CERTIFICATE_VERIFY_FAILED" in words or "certificate" in words.lower():
        return (
            f"the TLS certificate of {server.root} is not trusted ({words}); {server.settings.certificates}"
        )
    return f"TLS with {server.root} failed ({words})"


def _causes(error: BaseException) -> Iterator[BaseException]:
    visited: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in visited:
        visited.add(id(at))
        yield at
        at = at.__cause__ or at.__context__


def _innermost(causes: list[BaseException]) -> str:
    """The innermost error message of the chain that is not empty."""
    for cause in reversed(causes):
        if not isinstance(cause, StopIteration | StopAsyncIteration) and str(cause).strip():
            return " ".join(str(cause).split())
    return type(causes[0]).__name__
