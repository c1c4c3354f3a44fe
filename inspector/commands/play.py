"""`play`: an OpenAI-compatible server that replays captures."""

import re
from argparse import ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from inspector.capture.capture import Capture
from inspector.capture.errors import InspectorError
from inspector.commands.serving import add_address_options, serve
from inspector.commands.terminal import Commands
from inspector.files.store import builtin, load_all
from inspector.net.playback import FAULTS, PlaybackSettings, playback_routes

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@*A-Z]+")
_FAULTS = "\n".join(f"  {fault.example:24} {fault.words}" for fault in FAULTS.values())
_EXAMPLE = f"""example:
  python -m inspector play fixtures/*.jsonl --port 8001
  curl -N localhost:8001/v1/chat/completions -d '{{"model": "playback", "stream": true, "messages": []}}'

The model of a request names the capture (its file name); `playback` serves all captures round-robin.
Headers or query parameters change one request: X-Playback-Capture, X-Playback-Speed,
X-Playback-Tokens-Per-S, X-Playback-Faults.

faults, separated by commas (EVENT counts from 0; the default is the middle of the response):
{_FAULTS}
"""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "play",
        description="Respond to chat, Responses and completions requests with captures, at recorded speed.",
        epilog=_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="captures (default: the built-in captures)")
    add_address_options(parser, port=8001)
    parser.add_argument(
        "--speed",
        type=_pace,
        default="1",
        help="multiple of the recorded pace (default: 1); inf removes all pauses",
    )
    parser.add_argument("--tokens-per-s", type=_pace, help="a constant pace instead of the recorded one")
    parser.add_argument(
        "--faults", default="", help="faults for every response, e.g. merge=3,last-token-only"
    )
    parser.add_argument(
        "--allow-origin",
        action="append",
        type=_origin,
        default=[],
        metavar="ORIGIN",
        help="let web pages of this origin read the responses, e.g. http://localhost:5173; repeatable, "
        "* allows all pages",
    )
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Serve until interrupted."""
    changes = {"speed": arguments.speed, "faults": arguments.faults}
    if arguments.tokens_per_s:
        changes["tokens_per_s"] = arguments.tokens_per_s
    settings = PlaybackSettings().changed(changes)
    captures = _captures([Path(file) for file in arguments.files])
    routes = playback_routes(lambda: captures, prefix="", settings=settings, origins=arguments.allow_origin)
    lines = [
        f"{len(captures)} captures at {{address}}/v1 (models: {{address}}/v1/models); press Ctrl-C to stop"
    ]
    cors = Middleware(
        CORSMiddleware,
        allow_origins=arguments.allow_origin,
        allow_methods=["GET", "POST", "PUT", "DELETE"],
        allow_headers=["*"],
        expose_headers=["X-Playback-Capture"],
    )
    serve(Starlette(routes=routes, middleware=[cors] if arguments.allow_origin else []), arguments, lines)
    return 0


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
