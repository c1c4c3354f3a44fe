"""What went wrong between a client and a server: the kind, and one sentence with what to do.

The transport's own words stay in the sentence; what they mean is said before them.
"""

import json
import ssl
from collections.abc import Iterator
from typing import Any, Final

import httpx

from inspector.client.address import Server
from inspector.client.outcome import OutcomeKind, Problem
from inspector.formats import clip

__all__ = ["connection_failure", "is_timeout", "refusal", "said"]

_SAID_AT_MOST: Final = 300


def connection_failure(error: BaseException, server: Server, *, begun: bool = False) -> Problem:
    """A failure of the connection; `begun` when part of the answer had come."""
    causes = list(_causes(error))
    words = _innermost(causes)
    for cause in causes:
        if isinstance(cause, httpx.ConnectTimeout | httpx.PoolTimeout):
            return Problem(
                OutcomeKind.TIMED_OUT,
                f"{server.root} did not accept a connection within {server.connect_s:g} s; "
                + ("does it speak TLS? " if server.root.startswith("https:") else "")
                + "check the host, and that no firewall stands between",
            )
        if isinstance(cause, httpx.TimeoutException):
            what = "the stream stalled: nothing came" if begun else "no answer came"
            return Problem(
                OutcomeKind.TIMED_OUT,
                f"{server.root}: {what} for {server.silence_s:g} s; "
                "look at the server's log, or allow a longer silence with --timeout",
            )
        if isinstance(cause, ssl.SSLError) or "SSL" in str(cause) or "CERTIFICATE" in str(cause):
            return Problem(OutcomeKind.NOT_REACHED, _tls(words, server))
    if begun:
        sentence = f"{server.root} broke the connection off in the middle of the answer ({words})"
        return Problem(OutcomeKind.BROKEN_OFF, sentence)
    return Problem(OutcomeKind.NOT_REACHED, _unreached(words, server))


def _unreached(words: str, server: Server) -> str:
    lower = words.lower()
    if "refused" in lower or "connect call failed" in lower or "all connection attempts failed" in lower:
        return f"nothing answers at {server.root} ({words}); start the server there, or correct host and port"
    if any(sign in lower for sign in ("name or service", "nodename", "getaddrinfo", "name resolution")):
        return f"the host name of {server.root} is not known ({words}); check its spelling"
    if "illegal status line" in lower or "illegal" in lower:
        return f"{server.root} does not speak HTTP ({words}); check the port, or try https://"
    if "without sending a response" in lower or "closed" in lower or "reset" in lower:
        return f"{server.root} closed the connection without an answer ({words}); check the port, or try https://"
    return f"{server.root} cannot be reached ({words})"


def refusal(status: int, body: str, server: Server, *, path: str, model: str = "") -> Problem:
    """What an HTTP status of 400 or above, or an answer that is no API answer, means."""
    words = said(body)
    if status in {401, 403}:
        return Problem(
            OutcomeKind.KEY_REJECTED,
            f"{server.root} refuses the key (HTTP {status}: {words}); "
            "give the one that the server was started with as --api-key",
            words,
        )
    if status == 404 and "model" in words.lower():
        named = f" {model!r}" if model else ""
        where = f"{server.root} does not serve the model{named}"
        sentence = f"{where} (HTTP 404: {words}); take a name from its /v1/models"
        return Problem(OutcomeKind.NO_MODEL, sentence, words)
    if status in {404, 405}:
        sentence = f"{server.v1} has no {path} (HTTP {status}); check the address: most of them end in /v1"
        return Problem(OutcomeKind.NO_ENDPOINT, sentence, words)
    if status < 400:
        return Problem(
            OutcomeKind.NO_API,
            f"{server.v1}{path} answered with no API answer ({words}); "
            "check the address: another program may listen there",
            words,
        )
    if status == 429:
        sentence = f"{server.root} is asked too often (HTTP 429: {words}); wait, or lower the load"
        return Problem(OutcomeKind.RATE_LIMITED, sentence, words)
    whose = "refused the request" if status < 500 else "failed"
    kind = OutcomeKind.REQUEST_REJECTED if status < 500 else OutcomeKind.SERVER_FAILED
    return Problem(kind, f"{server.root} {whose} (HTTP {status}: {words})", words)


def said(body: str) -> str:
    """What an error body says, in one line; a web page is only named."""
    try:
        parsed: Any = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict):
        inner = parsed.get("error", parsed)
        found = inner.get("message", inner.get("detail")) if isinstance(inner, dict) else inner
        if found is not None:
            body = found if isinstance(found, str) else json.dumps(found)
    elif body.lstrip()[:1] == "<":
        return "a web page, not JSON"
    line = " ".join(body.split())
    return clip(line, _SAID_AT_MOST) or "no words"


def is_timeout(error: BaseException) -> bool:
    """True when a timeout of ours ended it."""
    return any(isinstance(cause, httpx.TimeoutException) for cause in _causes(error))


def _tls(words: str, server: Server) -> str:
    if "WRONG_VERSION_NUMBER" in words or "record layer failure" in words.lower():
        return f"{server.root} does not speak TLS ({words}); write the address with http://"
    if "CERTIFICATE_VERIFY_FAILED" in words or "certificate" in words.lower():
        return (
            f"the TLS certificate of {server.root} is not trusted ({words}); "
            "name its CA file with --ca-file, or trust any with --insecure"
        )
    return f"TLS with {server.root} failed ({words})"


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        yield at
        at = at.__cause__ or at.__context__


def _innermost(causes: list[BaseException]) -> str:
    """The last words of the chain that are words."""
    for cause in reversed(causes):
        if not isinstance(cause, StopIteration | StopAsyncIteration) and str(cause).strip():
            return " ".join(str(cause).split())
    return type(causes[0]).__name__
