"""`play`: an OpenAI-compatible server that answers with captures."""

from argparse import ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from pathlib import Path

from starlette.applications import Starlette

from inspector.capture import Capture
from inspector.commands.serving import port_number, serve
from inspector.commands.shared import Commands
from inspector.errors import InspectorError
from inspector.playback import FAULTS, Settings, playback_routes
from inspector.store import builtin, load

__all__ = ["add_parser"]

_FAULTS = "\n".join(f"  {one.example:24} {one.words}" for one in FAULTS.values())
_EXAMPLE = f"""example:
  python -m inspector play fixtures/*.jsonl --port 8001
  curl -N localhost:8001/v1/chat/completions -d '{{"model": "playback", "stream": true, "messages": []}}'

The model of a request names the capture (its file name); `playback` takes each in turn. Headers or the
query change one request: X-Playback-Capture, X-Playback-Speed, X-Playback-Tokens-Per-S, X-Playback-Faults.

faults, separated by commas (EVENT counts from 0; without a value the middle is taken):
{_FAULTS}
"""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "play",
        help="serve captures as an OpenAI-compatible server",
        description="Answer requests for chat, Responses and completions with captures, at their own pace.",
        epilog=_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="captures; default: the built-in ones")
    parser.add_argument("--port", type=port_number, default=8001, help="0 for a free one (default: 8001)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--speed", type=_pace, default="1", help="times the recorded pace; inf for no pauses")
    parser.add_argument("--tokens-per-s", type=_pace, help="a steady pace in the place of the recorded one")
    parser.add_argument("--faults", default="", help="faults of every answer, e.g. merge=3,last-token-only")
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Serve until interrupted."""
    wanted = {"speed": arguments.speed, "faults": arguments.faults}
    if arguments.tokens_per_s:
        wanted["tokens_per_s"] = arguments.tokens_per_s
    settings = Settings().changed(wanted)
    captures = _captures([Path(file) for file in arguments.files])
    routes = playback_routes(lambda: captures, prefix="", settings=settings)
    lines = [f"{len(captures)} captures at {{address}}/v1 (models: {{address}}/v1/models); Ctrl-C ends"]
    serve(Starlette(routes=routes), arguments.host, arguments.port, lines)
    return 0


def _pace(text: str) -> str:
    try:
        Settings().changed({"speed": text})
    except InspectorError as error:
        raise ArgumentTypeError(str(error)) from error
    return text


def _captures(files: list[Path]) -> dict[str, Capture]:
    """Captures by the name that requests use; InspectorError when there are none."""
    found: dict[str, Capture] = {}
    for path, stem in [(file, _stem(file)) for file in files] or [(row.path, row.name) for row in builtin()]:
        loaded = load(path)
        for number, capture in enumerate(loaded, 1):
            name = stem if len(loaded) == 1 else f"{stem}-{number}"
            copies = 2
            while name in found:
                name, copies = f"{stem}-{copies}", copies + 1
            found[name] = capture
    if not found:
        raise InspectorError("no captures to play; name some files")
    return found


def _stem(path: Path) -> str:
    """The file name without the endings of a capture: versions in a name have dots too."""
    name = path.name
    for ending in (".gz", ".zst", ".jsonl", ".json"):
        name = name.removesuffix(ending)
    return name
