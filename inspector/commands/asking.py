"""The options of every command that sends requests: the request, the server, and the connection to it."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from inspector.capture.capture import Endpoint
from inspector.capture.errors import InspectorError, StoreError
from inspector.commands.options import Options, Value, flag, option, required
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest, parse_messages, parse_tools
from inspector.protocol.wire.endpoints import ASKED, spec_of

KEY_VARIABLE: Final = "OPENAI_API_KEY"
"""Both variables are those of the OpenAI SDKs. On a command line, other users of the machine see a key."""
URL_VARIABLE: Final = "OPENAI_BASE_URL"
BASE_URL_HELP: Final = f"e.g. http://localhost:8000/v1 (default: {URL_VARIABLE} of the environment)"


class Sampling(Options, title="request"):
    """The options of a request that all commands share."""

    tools: str | None = option("JSON file with tools", None, "FILE")
    reasoning_effort: Literal["low", "medium", "high"] | None = option("", None)
    max_tokens: int | None = option("", None, "N")
    temperature: float | None = option("", None)
    seed: int | None = option("", None)


class Request(Sampling, title="request"):
    """The options of a request, except the model."""

    endpoint: Endpoint = option("", Endpoint.CHAT, choices=[spec.endpoint.value for spec in ASKED])
    prompt: str | None = option("the user's message", None, "TEXT", one_of="text")
    messages: str | None = option("JSON file with chat messages", None, "FILE", one_of="text")
    tool_choice: str | None = option("auto, none, required", None, "WORD")
    top_p: float | None = option("", None)
    background: bool = flag(
        "Responses only: continue on the server if the connection breaks, then resume the stream"
    )
    logprobs: bool = flag("request logprobs, for servers that send no token IDs")


def usual_request(options: Sampling, model: str = "") -> LiveRequest:
    """A request with these options and no prompt."""
    return LiveRequest(
        model=model,
        tools=_parsed(options.tools, parse_tools) if options.tools else (),
        reasoning_effort=options.reasoning_effort,
        max_tokens=options.max_tokens,
        temperature=options.temperature,
        seed=options.seed,
    )


def request_of(options: Request, model: str) -> LiveRequest:
    """The request that the options describe."""
    if options.background and not spec_of(options.endpoint).resumable:
        raise InspectorError("--background needs --endpoint responses")
    return replace(
        usual_request(options, model),
        endpoint=options.endpoint,
        prompt=options.prompt or "",
        messages=_parsed(options.messages, parse_messages) if options.messages else (),
        tool_choice=options.tool_choice,
        top_p=options.top_p,
        logprobs=options.logprobs,
        background=options.background,
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < inf:
        raise ArgumentTypeError(f"invalid timeout {text[:40]!r}: expected a positive number of seconds")
    return seconds


class Connection(Options, title="server"):
    """How to connect to a server, except its address."""

    api_key: str = option(
        f"API key (default: {KEY_VARIABLE} of the environment); never stored",
        "",
        "KEY",
        environment=KEY_VARIABLE,
    )
    header: tuple[str, ...] = option("an additional header; repeatable", (), "NAME:VALUE", repeatable=True)
    ca_file: str | None = option("trust the CA certificates in this file", None, "FILE", one_of="trust")
    insecure: bool = flag("trust any TLS certificate", one_of="trust")
    timeout: Annotated[float, Value(_seconds, "S")] = option("give up after S seconds without data", 300.0)


class AskedServer(Connection, title="server"):
    """A server, and how to connect to it."""

    base_url: str = required(BASE_URL_HELP, "URL", environment=URL_VARIABLE)


def server_of(options: Connection, base_url: str) -> Server:
    """The server at an address, with the connection that the options describe."""
    headers = {}
    for line in options.header:
        name, colon, value = line.partition(":")
        if not colon or not name.strip().isascii():
            raise InspectorError(
                f"invalid header {name.strip()!r}: expected NAME:VALUE, for example X-Team:search"
            )
        headers[name.strip()] = value.strip()
    return Server(
        base_url=base_url,
        api_key=options.api_key,
        headers=headers,
        verify=options.ca_file or not options.insecure,
        silence_s=options.timeout,
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
