"""`record`: send one request and save its stream as a capture."""

from argparse import (
    ArgumentParser,
    ArgumentTypeError,
    Namespace,
    RawDescriptionHelpFormatter,
    _ArgumentGroup,
)
from collections.abc import Callable
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

from inspector.capture import Endpoint
from inspector.client.address import Server
from inspector.client.request import LiveRequest, parse_messages, parse_tools
from inspector.commands.redact import add_redact_option, fresh
from inspector.commands.shared import Commands, say, tell
from inspector.errors import ConnectionFailed, InspectorError, StoreError
from inspector.inspection import inspect
from inspector.masking import masked
from inspector.runs.registry import Registry
from inspector.store import save
from inspector.wire.endpoints import ASKED, spec_of

__all__ = [
    "add_connection_options",
    "add_parser",
    "add_request_options",
    "add_server_options",
    "request_of",
    "server_of",
]

_EXAMPLE = """example:
  python -m inspector record --base-url http://localhost:8000/v1 --model openai/gpt-oss-20b \\
      --endpoint chat --prompt "What is the weather in Paris?" --out weather.jsonl

--endpoint completions sends the Harmony prompt as token IDs. No parser runs on that stream, so it
shows every sampled token (the ground truth). --and-truth records both, in two files.

exit codes: 0 recorded, 1 recorded but the stream failed, 2 nothing could be recorded
"""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "record",
        help="send a request and save the stream as a capture",
        description="Send one streaming request with the openai client and save every event with its time.",
        epilog=_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    add_server_options(parser)
    parser.add_argument("--model", required=True, help="a model name from the server's /v1/models")
    add_request_options(parser, required=True)
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="file for the capture; must not exist yet"
    )
    parser.add_argument(
        "--and-truth", metavar="FILE", help="also send the prompt to completions, and save that capture here"
    )
    add_redact_option(parser)
    parser.set_defaults(run=run)


def add_request_options(parser: ArgumentParser | _ArgumentGroup, *, required: bool) -> None:
    """Add the options of the request, except the model."""
    parser.add_argument("--endpoint", choices=[spec.endpoint.value for spec in ASKED], default="chat")
    text = parser.add_mutually_exclusive_group(required=required)
    text.add_argument("--prompt", metavar="TEXT", help="the user's message")
    text.add_argument("--messages", metavar="FILE", help="JSON file with chat messages")
    parser.add_argument("--tools", metavar="FILE", help="JSON file with tools")
    parser.add_argument("--tool-choice", metavar="WORD", help="auto, none, required")
    parser.add_argument("--reasoning-effort", choices=("low", "medium", "high"))
    parser.add_argument("--max-tokens", type=int, metavar="N")
    parser.add_argument("--temperature", type=float)
    parser.add_argument("--top-p", type=float)
    parser.add_argument("--seed", type=int)
    parser.add_argument(
        "--background",
        action="store_true",
        help="Responses only: continue on the server if the connection breaks, then resume the stream",
    )
    parser.add_argument(
        "--logprobs", action="store_true", help="request logprobs, for servers that send no token IDs"
    )


def request_of(arguments: Namespace, model: str) -> LiveRequest:
    """The request that the options describe."""
    if arguments.background and not spec_of(Endpoint(arguments.endpoint)).resumable:
        raise InspectorError("--background needs --endpoint responses")
    return LiveRequest(
        model=model,
        endpoint=Endpoint(arguments.endpoint),
        prompt=arguments.prompt or "",
        messages=_parsed(arguments.messages, parse_messages) if arguments.messages else (),
        tools=_parsed(arguments.tools, parse_tools) if arguments.tools else (),
        tool_choice=arguments.tool_choice,
        reasoning_effort=arguments.reasoning_effort,
        max_tokens=arguments.max_tokens,
        temperature=arguments.temperature,
        top_p=arguments.top_p,
        seed=arguments.seed,
        logprobs=arguments.logprobs,
        background=arguments.background,
    )


def add_server_options(parser: ArgumentParser) -> None:
    """Add the options of every command that connects to a server."""
    parser.add_argument("--base-url", required=True, metavar="URL", help="e.g. http://localhost:8000/v1")
    add_connection_options(parser)


def add_connection_options(parser: ArgumentParser | _ArgumentGroup) -> None:
    """Add the options of the connection, except the address."""
    parser.add_argument("--api-key", default="", metavar="KEY", help="API key; never stored")
    parser.add_argument(
        "--header", action="append", default=[], metavar="NAME:VALUE", help="an additional header; repeatable"
    )
    trust = parser.add_mutually_exclusive_group()
    trust.add_argument("--ca-file", metavar="PEM", help="trust the CA certificates in this file")
    trust.add_argument("--insecure", action="store_true", help="trust any TLS certificate")
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=300.0,
        metavar="S",
        help="give up after S seconds without data (default: 300)",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < inf:
        raise ArgumentTypeError(f"invalid timeout {text[:40]!r}: expected a positive number of seconds")
    return seconds


def server_of(arguments: Namespace, base_url: str | None = None) -> Server:
    """The server that the options describe; `base_url` replaces the address."""
    headers = {}
    for line in arguments.header:
        name, colon, value = line.partition(":")
        if not colon or not name.strip().isascii():
            raise InspectorError(
                f"invalid header {name.strip()!r}: expected NAME:VALUE, for example X-Team:search"
            )
        headers[name.strip()] = value.strip()
    return Server(
        base_url=arguments.base_url if base_url is None else base_url,
        api_key=arguments.api_key,
        headers=headers,
        verify=arguments.ca_file or not arguments.insecure,
        silence_s=arguments.timeout,
    )


def run(arguments: Namespace) -> int:
    """Record one request."""
    request = request_of(arguments, arguments.model)
    registry = Registry(None)
    server = server_of(arguments)
    paths = [_free(arguments.out)]
    if arguments.and_truth:
        paths.append(_free(arguments.and_truth))
        if paths[0].resolve() == paths[1].resolve():
            raise StoreError(f"{paths[1]}: same file as --out; choose another name for --and-truth")
        files = (None, None) if arguments.redact_text else (paths[0], paths[1])
        runs = list(registry.start_both(server, request, paths=files))
    else:
        runs = [registry.start(server, request, path=None if arguments.redact_text else paths[0])]
    try:
        for one in runs:
            registry.wait(one)
    except KeyboardInterrupt:
        for one in runs:
            one.stop()
            registry.wait(one, 5.0)
    for one in runs:
        if one.trouble:
            raise StoreError(one.trouble)
    failed = [one for one in runs if one.outcome.failed and not one.events]
    if failed:
        for one, path in zip(runs, paths, strict=True):
            if not one.events and not arguments.redact_text:
                with suppress(OSError):
                    path.unlink()  # an empty capture would block the next attempt
        raise ConnectionFailed(failed[0].outcome.failure)
    standins = fresh() if arguments.redact_text else None
    for one, path in zip(runs, paths, strict=True):
        capture = one.capture()
        if standins is not None:
            capture = masked(capture, standins, name=str(path))
            save(capture, path)
        looked = inspect(capture, name=str(path))
        pace = one.pace()
        rate = "" if pace.tokens_per_s is None else f", {pace.tokens_per_s:,.0f} tokens/s"
        count = f"{pace.tokens:,} tokens" if looked.reading.choice.has_ids else "token count unknown"
        say(f"{path}: {len(one.events):,} events, {count}{rate}")
        say(f"  {looked.verdict.level.upper()}: {looked.verdict.sentence}")
        for note in one.outcome.notes:
            say(f"  note: {note}")
        if one.outcome.failed:
            tell(f"inspector: {one.outcome.failure}")
    return int(any(one.outcome.failed for one in runs))


def _free(name: str) -> Path:
    """A path that can be written, checked before the request is sent."""
    path = Path(name)
    if path.exists():
        raise StoreError(f"{path}: file already exists; choose another name")
    if not path.parent.is_dir():
        raise StoreError(f"{path.parent}: no such folder; create it first")
    return path


def _parsed(name: str, parse: Callable[[str], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    try:
        text = Path(name).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise StoreError(f"{name}: cannot be read ({error}); pass a JSON file") from error
    try:
        return parse(text)
    except InspectorError as error:
        raise InspectorError(f"{name}: {error}") from error
