"""`play`: an OpenAI-compatible server that replays captures."""

from argparse import ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from pathlib import Path

from starlette.applications import Starlette

from inspector.capture.capture import Capture
from inspector.capture.errors import InspectorError
from inspector.commands.serving import add_address_options, serve
from inspector.commands.shared import Commands
from inspector.files.store import builtin, load_all
from inspector.net.playback import FAULTS, PlaybackSettings, playback_routes

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
        help="run an OpenAI-compatible server that replays captures",
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
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Serve until interrupted."""
    changes = {"speed": arguments.speed, "faults": arguments.faults}
    if arguments.tokens_per_s:
        changes["tokens_per_s"] = arguments.tokens_per_s
    settings = PlaybackSettings().changed(changes)
    captures = _captures([Path(file) for file in arguments.files])
    routes = playback_routes(lambda: captures, prefix="", settings=settings)
    lines = [
        f"{len(captures)} captures at {{address}}/v1 (models: {{address}}/v1/models); press Ctrl-C to stop"
    ]
    serve(Starlette(routes=routes), arguments, lines)
    return 0


def _pace(text: str) -> str:
    try:
        PlaybackSettings().changed({"speed": text})
    except InspectorError as error:
        raise ArgumentTypeError(str(error)) from error
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
