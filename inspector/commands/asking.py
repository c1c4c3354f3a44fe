"""The options of every command that sends requests: the request, the server, and the connection to it."""

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace, _ArgumentGroup
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any, Final

from inspector.capture.capture import Endpoint
from inspector.capture.errors import InspectorError, StoreError
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest, parse_messages, parse_tools
from inspector.protocol.wire.endpoints import ASKED, spec_of

KEY_VARIABLE: Final = "OPENAI_API_KEY"
"""Both variables are those of the OpenAI SDKs. On a command line, other users of the machine see a key."""
_URL_VARIABLE: Final = "OPENAI_BASE_URL"
BASE_URL_HELP: Final = f"e.g. http://localhost:8000/v1 (default: {_URL_VARIABLE} of the environment)"


def base_url() -> str | None:
    """The address in the environment, if there is one."""
    return os.environ.get(_URL_VARIABLE) or None


def add_request_options(parser: ArgumentParser | _ArgumentGroup, *, required: bool) -> None:
    """Add the options of the request, except the model."""
    parser.add_argument(
        "--endpoint", choices=[spec.endpoint.value for spec in ASKED], default="chat", help="default: chat"
    )
    text = parser.add_mutually_exclusive_group(required=required)
    text.add_argument("--prompt", metavar="TEXT", help="the user's message")
    text.add_argument("--messages", metavar="FILE", help="JSON file with chat messages")
    add_usual_options(parser)
    parser.add_argument("--tool-choice", metavar="WORD", help="auto, none, required")
    parser.add_argument("--top-p", type=float)
    parser.add_argument(
        "--background",
        action="store_true",
        help="Responses only: continue on the server if the connection breaks, then resume the stream",
    )
    parser.add_argument(
        "--logprobs", action="store_true", help="request logprobs, for servers that send no token IDs"
    )


def add_usual_options(parser: ArgumentParser | _ArgumentGroup) -> None:
    """Add the options of a request that all commands share."""
    parser.add_argument("--tools", metavar="FILE", help="JSON file with tools")
    parser.add_argument("--reasoning-effort", choices=("low", "medium", "high"))
    parser.add_argument("--max-tokens", type=int, metavar="N")
    parser.add_argument("--temperature", type=float)
    parser.add_argument("--seed", type=int)


def usual_request(arguments: Namespace, model: str = "") -> LiveRequest:
    """A request with these options and no prompt."""
    return LiveRequest(
        model=model,
        tools=_parsed(arguments.tools, parse_tools) if arguments.tools else (),
        reasoning_effort=arguments.reasoning_effort,
        max_tokens=arguments.max_tokens,
        temperature=arguments.temperature,
        seed=arguments.seed,
    )


def request_of(arguments: Namespace, model: str) -> LiveRequest:
    """The request that the options describe."""
    if arguments.background and not spec_of(Endpoint(arguments.endpoint)).resumable:
        raise InspectorError("--background needs --endpoint responses")
    return replace(
        usual_request(arguments, model),
        endpoint=Endpoint(arguments.endpoint),
        prompt=arguments.prompt or "",
        messages=_parsed(arguments.messages, parse_messages) if arguments.messages else (),
        tool_choice=arguments.tool_choice,
        top_p=arguments.top_p,
        logprobs=arguments.logprobs,
        background=arguments.background,
    )


def add_server_options(parser: ArgumentParser) -> None:
    """Add the options of every command that connects to a server."""
    parser.add_argument(
        "--base-url", required=not base_url(), default=base_url(), metavar="URL", help=BASE_URL_HELP
    )
    add_connection_options(parser)


def add_connection_options(parser: ArgumentParser | _ArgumentGroup) -> None:
    """Add the options of the connection, except the address."""
    parser.add_argument(
        "--api-key",
        default=os.environ.get(KEY_VARIABLE, ""),
        metavar="KEY",
        help=f"API key (default: {KEY_VARIABLE} of the environment); never stored",
    )
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


def _parsed(name: str, parse: Callable[[str], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    try:
        text = Path(name).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise StoreError(f"{name}: cannot be read ({error}); pass a JSON file") from error
    try:
        return parse(text)
    except InspectorError as error:
        raise InspectorError(f"{name}: {error}") from error
