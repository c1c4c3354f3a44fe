"""`play`: an OpenAI-compatible server that replays captures."""

import re
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Annotated, Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from inspector.capture.capture import Capture
from inspector.capture.errors import InspectorError
from inspector.commands.options import Command, Value, option
from inspector.commands.serving import Hosts, Port, serve
from inspector.commands.shared import path_of
from inspector.files.store import builtin, load_all
from inspector.net.playback import FAULTS, PlaybackSettings, playback_routes

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@*A-Z]+")
_FAULTS = "\n".join(f"  {fault.example:24} {fault.words}" for fault in FAULTS.values())
_EXAMPLE = f"""example:
  python -m inspector play --port 8001
  curl -N localhost:8001/v1/chat/completions -d '{{"model": "playback", "stream": true, "messages": []}}'

The model of a request names the capture (its file name); `playback` serves all captures round-robin.
Headers or query parameters change one request: X-Playback-Capture, X-Playback-Speed,
X-Playback-Tokens-Per-S, X-Playback-Faults.

faults, separated by commas (EVENT counts from 0; the default is the middle of the response):
{_FAULTS}
"""


def _pace(text: str) -> str:
    try:
        PlaybackSettings().changed({"speed": text})
    except InspectorError as error:
        raise ArgumentTypeError(str(error)) from error
    return text


def _origin(text: str) -> str:
    """Parse the origin of web pages as browsers send it, `null` for files."""
    if text not in {"*", "null"} and not _ORIGIN.fullmatch(text):
        raise ArgumentTypeError(
            f"invalid origin: {text[:80]!r} (expected scheme, host and port, for example http://localhost:5173)"
        )
    return text


class Play(Hosts):
    """Respond to requests of all endpoints with captures, at recorded speed."""

    files: tuple[str, ...] = option(
        "captures (default: the built-in captures)", (), "FILE", positional=True, globs=True
    )
    port: Port = option("0 selects a free port", 8001)
    speed: Annotated[str, Value(_pace, "SPEED")] = option(
        "multiple of the recorded pace; inf removes all pauses", "1"
    )
    tokens_per_s: Annotated[str, Value(_pace, "N")] | None = option(
        "a constant pace instead of the recorded one", None
    )
    faults: str = option("faults for every response, e.g. merge=3,last-token-only", "")
    allow_origin: tuple[Annotated[str, Value(_origin, "ORIGIN")], ...] = option(
        "let web pages of this origin read the responses, e.g. http://localhost:5173; repeatable, * allows "
        "all pages",
        (),
        repeatable=True,
    )


def run(options: Play) -> int:
    """Serve until interrupted."""
    changes = {"speed": options.speed, "faults": options.faults}
    if options.tokens_per_s:
        changes["tokens_per_s"] = options.tokens_per_s
    settings = PlaybackSettings().changed(changes)
    captures = _captures([path_of(file) for file in options.files])
    routes = playback_routes(lambda: captures, prefix="", settings=settings, origins=options.allow_origin)
    lines = [
        f"{len(captures)} captures at {{address}}/v1 (models: {{address}}/v1/models); press Ctrl-C to stop"
    ]
    cors = Middleware(
        CORSMiddleware,
        allow_origins=options.allow_origin,
        allow_methods=["GET", "POST", "PUT", "DELETE"],
        allow_headers=["*"],
        expose_headers=["X-Playback-Capture"],
    )
    serve(
        Starlette(routes=routes, middleware=[cors] if options.allow_origin else []),
        options,
        options.port,
        lines,
    )
    return 0


def _captures(files: list[Path]) -> dict[str, Capture]:
    """Captures by the name that requests use; raises InspectorError if there are none."""
    captures: dict[str, Capture] = {}
    for path, stem in [(file, _stem(file)) for file in files] or [(row.path, row.name) for row in builtin()]:
        loaded = load_all(path)
        for number, capture in enumerate(loaded, 1):
            name = stem if len(loaded) == 1 else f"{stem}-{number}"
            copies = 2
            while name in captures:
                name, copies = f"{stem}-{copies}", copies + 1
            captures[name] = capture
    if not captures:
        raise InspectorError("no captures to play; pass some files")
    return captures


def _stem(path: Path) -> str:
    """The file name without a capture's extensions; other dots, as in a version, stay."""
    name = path.name
    for ending in (".gz", ".zst", ".jsonl", ".json"):
        name = name.removesuffix(ending)
    return name


COMMAND: Final = Command(Play, run, _EXAMPLE)
