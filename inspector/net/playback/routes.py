"""The endpoints of an OpenAI-compatible server that responds with captures.

Mounted beside the dashboard under `/playback`, or at the root by `python -m inspector play`. It checks no
key, stores no request, and opens no file that a request names.
"""

import json
import time
from asyncio import sleep as asyncio_sleep
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, isfinite
from typing import Any, Final
from urllib.parse import quote, urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from inspector.capture.capture import Capture, Endpoint, EventKind
from inspector.capture.errors import InspectorError
from inspector.net.playback.faults import Faults, parse_faults
from inspector.net.playback.pacing import Clock, PlayedResponse, Sleep, paced
from inspector.net.playback.selection import ANY, UnknownModel, choose, fits
from inspector.net.playback.served_response import ServedResponse, served_response
from inspector.protocol.engines.replays import replayed_from
from inspector.protocol.wire.endpoints import ASKED
from inspector.protocol.wire.event_json import dumps

_BODY_LIMIT_BYTES: Final = 64 * 2**20
_SETTINGS: Final = ("capture", "speed", "tokens_per_s", "faults")
_HTML: Final = (
    "<html>\r\n<head><title>{status} {words}</title></head>\r\n<body>\r\n<center><h1>{status} {words}</h1>"
    "</center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybackSettings:
    """How captures are played; a request may override each setting."""

    capture: str | None = None
    """Name of the capture; None selects them round-robin."""
    speed: float = 1.0
    """Recorded times are divided by it; inf sends everything at once."""
    tokens_per_s: float | None = None
    """A constant pace instead of the recorded times."""
    faults: Faults = field(default_factory=Faults)

    def changed(self, changes: Mapping[str, str]) -> "PlaybackSettings":
        """These settings with `changes`, named as in headers, query and control.

        Raises InspectorError for an invalid value.
        """
        settings = self
        if (text := changes.get("capture")) is not None:
            if not text.isprintable():
                raise InspectorError(
                    f"invalid capture name {text[:40]!a}: it has characters that no name has"
                )
            settings = replace(settings, capture=text or None)
        if (text := changes.get("speed")) is not None:
            settings = replace(settings, speed=_positive("speed", text))
        if (text := changes.get("tokens_per_s")) is not None:
            pace = _positive("tokens_per_s", text) if text else inf
            settings = replace(settings, tokens_per_s=pace if isfinite(pace) else None)
        if (text := changes.get("faults")) is not None:
            # A request adds to the faults set by the control; `none` removes all of them.
            faults = Faults() if text.strip() in {"", "none"} else parse_faults(text, onto=settings.faults)
            settings = replace(settings, faults=faults)
        return settings


def playback_routes(
    captures: Callable[[], Mapping[str, Capture]],
    *,
    prefix: str = "/playback",
    settings: PlaybackSettings | None = None,
    origins: Collection[str] = (),
    clock: Clock = time.monotonic,
    sleep: Sleep = asyncio_sleep,
) -> list[BaseRoute]:
    """Routes of the built-in server; `captures` is called for each request, so its result may change.

    `prefix` empty serves at the root. `GET`, `PUT` and `DELETE` of `/control` read, set and reset the
    settings for all requests that follow. Web pages may send requests from their own origin and from
    `origins`, of which `*` is every one.
    """
    player = _Player(captures, settings or PlaybackSettings(), origins, clock, sleep)
    routes: list[BaseRoute] = [
        Route(spec.full_path, partial(player.play, spec.endpoint), methods=["POST"]) for spec in ASKED
    ]
    routes += [
        Route("/v1/models", player.models, methods=["GET"]),
        Route("/health", player.health, methods=["GET"]),
        Route("/version", player.version, methods=["GET"]),
        Route("/control", player.control, methods=["GET", "PUT", "DELETE"]),
        Mount("/", app=_unknown_path),
    ]
    return [Mount(prefix, routes=routes)] if prefix else routes


class _Player:
    def __init__(
        self,
        captures: Callable[[], Mapping[str, Capture]],
        settings: PlaybackSettings,
        origins: Collection[str],
        clock: Clock,
        sleep: Sleep,
    ) -> None:
        self._captures = captures
        self._origins = frozenset(origins)
        self._first_settings = self._settings = settings
        self._clock = clock
        self._sleep = sleep
        self._turns: dict[Endpoint, int] = {}

    async def play(self, endpoint: Endpoint, request: Request) -> ASGIApp:
        """Answer one request for text."""
        try:
            body = await self._json_body(request)
            settings = self._settings.changed(_request_settings(request))
            faults = settings.faults
            if faults.http is not None:
                message = "A fault that the request selected."
                return _error(faults.http, message, "InternalServerError" if faults.http >= 500 else "Error")
            if faults.html is not None:
                words = "Bad Gateway" if faults.html == 502 else "Error"
                page = _HTML.format(status=faults.html, words=words)
                return Response(page, faults.html, media_type="text/html")
            name, capture = self._choose(endpoint, body, settings)
            response = served_response(capture, endpoint, body, faults)
            played = paced(response, faults, speed=settings.speed, tokens_per_s=settings.tokens_per_s)
        except UnknownModel as error:
            return _error(404, str(error), "NotFoundError", param="model")
        except InspectorError as error:
            return _error(400, str(error), "BadRequestError")
        except ClientDisconnect:
            return Response(status_code=400)
        headers = [(b"content-type", _media_type(response)), (b"x-playback-capture", quote(name).encode())]
        if not response.streams and not played.cut:
            length = sum(len(chunk.body) for chunk in played.chunks)
            headers.append((b"content-length", str(length).encode()))
        return PlayedResponse(
            played, status=response.status, headers=headers, clock=self._clock, sleep=self._sleep
        )

    async def _json_body(self, request: Request) -> dict[str, Any]:
        # A web page of another site cannot send this type without a CORS preflight.
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise InspectorError("the request body must be sent as application/json")
        origin = request.headers.get("origin")
        own = origin is None or urlsplit(origin).netloc == request.headers.get("host")
        if not own and self._origins.isdisjoint({origin, "*"}):
            raise InspectorError("web pages of other sites may not send requests here; see --allow-origin")
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > _BODY_LIMIT_BYTES:
                raise InspectorError(f"the request is longer than {_BODY_LIMIT_BYTES:,} bytes")
        try:
            value = json.loads(bytes(body))
        except (ValueError, RecursionError) as error:
            raise InspectorError(f"the request body is not valid JSON ({str(error)[:120]})") from error
        if not isinstance(value, dict):
            raise InspectorError("the request body is not a JSON object")
        return value

    def _choose(
        self, endpoint: Endpoint, body: Mapping[str, Any], settings: PlaybackSettings
    ) -> tuple[str, Capture]:
        captures = self._captures()
        model = body.get("model")
        turn = self._turns.get(endpoint, 0)
        name = choose(
            captures,
            endpoint,
            name=settings.capture,
            model=model if isinstance(model, str) else None,
            streamed=bool(body.get("stream")),
            turn=turn,
        )
        self._turns[endpoint] = turn + 1
        return name, captures[name]

    async def models(self, _: Request) -> Response:
        """List the captures as models, and the models that they were recorded with."""
        captures = self._captures()
        recorded = {capture.header.model for capture in captures.values()} - {None, *captures}
        cards = [
            {
                "id": name,
                "object": "model",
                "created": 0,
                "owned_by": _owner(captures, name),
                "root": captures[name].header.model if name in captures else name,
                "max_model_len": 131072,
                "endpoints": _endpoints(captures, name),
            }
            for name in [*captures, *sorted(model for model in recorded if model), ANY]
        ]
        return _json({"object": "list", "data": cards})

    async def health(self, _: Request) -> Response:
        """An empty 200, as from vLLM."""
        return Response()

    async def version(self, request: Request) -> Response:
        """The vLLM version of the selected capture, or of all if they have the same."""
        captures = self._captures()
        try:
            name = self._settings.changed(_request_settings(request)).capture
        except InspectorError as error:
            return _error(400, str(error), "BadRequestError")
        chosen = [captures[name]] if name is not None and name in captures else list(captures.values())
        versions = {capture.header.server_version for capture in chosen}
        version = versions.pop() if len(versions) == 1 else None
        return _json({"version": version or "playback"})

    async def control(self, request: Request) -> Response:
        """Read, set or reset the settings."""
        try:
            if request.method == "DELETE":
                self._settings = self._first_settings
            elif request.method == "PUT":
                changes = await self._json_body(request)
                self._settings = self._settings.changed(_controlled(changes))
        except InspectorError as error:
            return _error(400, str(error), "BadRequestError")
        now = self._settings
        return _json(
            {
                "capture": now.capture,
                "speed": now.speed if isfinite(now.speed) else "inf",
                "tokens_per_s": now.tokens_per_s,
                "faults": {
                    key: getattr(now.faults, key)
                    for key in Faults.__dataclass_fields__
                    if getattr(now.faults, key) != getattr(Faults(), key)
                },
            }
        )


def _request_settings(request: Request) -> dict[str, str]:
    """Settings from headers (`X-Playback-Speed`) and query (`speed`); the query takes precedence."""
    changes = {}
    for key in _SETTINGS:
        header = request.headers.get(f"x-playback-{key.replace('_', '-')}")
        text = request.query_params.get(key, header)
        if text is not None:
            changes[key] = text
    return changes


def _controlled(changes: Mapping[str, Any]) -> dict[str, str]:
    """Settings from a body for `/control`, as text; null is the default."""
    if unknown := [key for key in changes if key not in _SETTINGS]:
        raise InspectorError(f"unknown setting {unknown[0][:40]!r}; available: {', '.join(_SETTINGS)}")
    if isinstance(changes.get("faults"), dict | list):
        raise InspectorError("faults must be a string, for example merge=3,last-token-only")
    return {
        key: str(value) if value is not None else "1" if key == "speed" else ""
        for key, value in changes.items()
    }


def _positive(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not number > 0:
        raise InspectorError(f"invalid {name} {text[:40]!r}: expected a positive number, or inf")
    return number


def _endpoints(captures: Mapping[str, Capture], name: str) -> list[str]:
    candidates = [captures[name]] if name in captures else list(captures.values())
    return [
        spec.full_path
        for spec in ASKED
        if any(
            fits(capture, spec.endpoint, streamed=streamed)
            for capture in candidates
            for streamed in (True, False)
        )
    ]


def _owner(captures: Mapping[str, Capture], name: str) -> str:
    """`owned_by` of a replay: it names the front end that the capture came from."""
    return replayed_from(captures[name].header.owned_by if name in captures else None)


def _media_type(made: ServedResponse) -> bytes:
    if made.streams:
        return b"text/event-stream; charset=utf-8"
    body = "".join(event.data[:64] for event in made.events if event.kind is EventKind.BODY).lstrip()
    return b"text/html" if body.startswith("<") else b"application/json"


def _error(status: int, message: str, kind: str, *, param: str | None = None) -> Response:
    """An error as vLLM words it since 0.10: `{"error": {...}}`."""
    value = {"error": {"message": message, "type": kind, "param": param, "code": status}}
    return _json(value, status)


def _json(value: object, status: int = 200) -> Response:
    """A value as JSON; a lone surrogate, which UTF-8 cannot encode, as its escape."""
    return Response(dumps(value).encode("utf-8", "backslashreplace"), status, media_type="application/json")


async def _unknown_path(scope: Scope, receive: Receive, send: Send) -> None:
    await _json({"detail": "Not Found"}, 404)(scope, receive, send)
