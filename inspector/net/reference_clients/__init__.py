"""Whether a client can read a recorded response: official SDKs run over its bytes.

The installed `openai` and `anthropic` run in this process. Other clients are programs beside this file, each
started once in an environment that has the SDK: they read a response a line and write what the SDK made of
it (`Reader`).

One of an SDK's own exceptions reports what happened: an error that the server sent, or the token limit. Any
other, such as an IndexError, means that the SDK cannot read the response.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final, cast

from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint, Event, EventKind
from inspector.capture.deltas import CONTENT, tool_index
from inspector.capture.errors import LabError
from inspector.capture.formats import clip
from inspector.protocol.wire.endpoints import endpoint_of_payload, spec_of
from inspector.protocol.wire.event_json import dumps
from inspector.protocol.wire.excerpt import excerpt_of
from inspector.protocol.wire.stream import loads

_ERROR_SHOWN: Final = 300
FOLDER: Final = Path(__file__).parent
"""Where the programs are."""


class ClientOutcome(StrEnum):
    """How a client got on with a response."""

    READ = "read"
    """It has a final object, with the text that was delivered."""
    DIFFERENT = "different"
    """It has a final object that lacks or changes delivered text."""
    NO_OBJECT = "no final object"
    """It read all events, and makes no object of a response that ends as this one."""
    REPORTED = "reported"
    """It raised an exception that says what happened: the server's error, the token limit, a cut stream."""
    UNREADABLE = "unreadable"
    """It raised any other exception."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientReading:
    """What a client made of a response."""

    client: str
    """Name and version, such as `openai-python 3.54.0`."""
    outcome: ClientOutcome
    error: str = ""
    """Class and message of the exception; empty where there is a final object."""
    fields: tuple[str, ...] = ()
    """Fields of the final object whose text is not the delivered one."""

    @property
    def accepts(self) -> bool:
        """False where the client fails on the response, or has other text than was delivered."""
        return self.outcome not in {ClientOutcome.DIFFERENT, ClientOutcome.UNREADABLE}

    def row(self) -> dict[str, Any]:
        """The row of `audit --json`."""
        return {
            "client": self.client,
            "outcome": self.outcome.value,
            "accepts": self.accepts,
            "error": self.error or None,
            "fields": list(self.fields),
        }

    @property
    def sentence(self) -> str:
        """In words."""
        match self.outcome:
            case ClientOutcome.READ:
                return f"{self.client} reads it."
            case ClientOutcome.DIFFERENT:
                return f"{self.client} reads it, with other text in {', '.join(self.fields)}."
            case ClientOutcome.NO_OBJECT:
                return f"{self.client} reads its events and makes no final object of it: {self.error}."
            case ClientOutcome.REPORTED:
                return f"{self.client} reports: {self.error}."
            case ClientOutcome.UNREADABLE:
                return f"{self.client} cannot read it: {self.error}."


def python_reading(capture: Capture) -> ClientReading | None:
    """Read a response with the installed SDK of its API; None without it, or without an accumulator for it.

    Content never raises.
    """
    request = response_row(capture)
    if request is None:
        return None
    name = spec_of(capture.header.endpoint).sdk
    try:
        sdk = import_module(f"{__name__}.{name}_python")  # an SDK takes a second
    except ModuleNotFoundError:
        return None
    response = sdk.Response(*(request[name] for name in sdk.Response._fields))
    return client_reading(f"{name}-python {sdk.VERSION}", capture, sdk.read(response)._asdict())


def response_row(capture: Capture) -> dict[str, Any] | None:
    """A response as the programs read it; None for a stream of completions, token IDs alone, an excerpt."""
    header = capture.header
    unstreamed = any(event.kind is EventKind.BODY for event in capture.events)
    if header.endpoint is Endpoint.TOKENS or (header.endpoint is Endpoint.COMPLETIONS and not unstreamed):
        return None
    if not unstreamed and excerpt_of(header, capture.events, capture.end) is not None:
        return None
    failed = unstreamed and read(capture).stream.errors
    events = [event for event in capture.events if event.kind is EventKind.BODY or not unstreamed]
    return {
        "endpoint": header.endpoint.value,
        "whole": unstreamed,
        "status": header.status or (500 if failed else 200),
        "text": "".join(event.data if unstreamed else _lines(event) for event in events),
        "cut": capture.end is not None and capture.end.cut,
        "tools": sorted(_offered(header.request)),
    }


def client_reading(client: str, capture: Capture, reading: Mapping[str, Any]) -> ClientReading:
    """What a client made of a response: the row of its program, compared with what was delivered.

    Compared is the text of the first choice on chat and Messages. On Responses the SDKs of OpenAI return the
    server's own final object, which the audit compares with the deltas; a client whose answer is built from
    deltas is compared there too.
    """
    outcome, answer = ClientOutcome(reading["outcome"]), reading["answer"]
    fields: tuple[str, ...] = ()
    endpoint = endpoint_of_payload(answer) if outcome is ClientOutcome.READ else None
    if endpoint is not None and spec_of(endpoint).deltas_only:
        fields = _different(capture, answer, endpoint)
        outcome = ClientOutcome.DIFFERENT if fields else outcome
    return ClientReading(
        client=client, outcome=outcome, error=clip(str(reading["error"]), _ERROR_SHOWN), fields=fields
    )


class ClientProcess:
    """A client in a process of its own."""

    def __init__(self, client: str, process: "subprocess.Popen[str]", log: IO[str]) -> None:
        self._client, self._process, self._log = client, process, log
        self.name = f"{client} {self._answer()['version']}"
        """Name and version of the SDK."""

    def read(self, capture: Capture) -> ClientReading | None:
        """Read a response; None where there is no row of it.

        Raises LabError when the program ends.
        """
        row = response_row(capture)
        if row is None:
            return None
        pipe = cast(IO[str], self._process.stdin)
        try:
            pipe.write(json.dumps(row) + "\n")
            pipe.flush()
        except BrokenPipeError:
            pass  # its last words are read below
        return client_reading(self.name, capture, self._answer())

    def _answer(self) -> dict[str, Any]:
        answer = loads(cast(IO[str], self._process.stdout).readline())
        if not isinstance(answer, dict):
            self._process.wait()
            self._log.seek(0)
            words = self._log.read()[-_ERROR_SHOWN:].strip()
            raise LabError(f"{self._client}: the program that runs the SDK ended: {words}")
        return answer


@contextmanager
def started(client: str, command: Sequence[str]) -> Iterator[ClientProcess]:
    """Run a client's program; raises LabError when it cannot be started."""
    with TemporaryFile("w+", encoding="utf-8", errors="replace") as log:  # a pipe that nobody reads fills up
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                encoding="utf-8",
            )
        except OSError as error:
            raise LabError(f"{client}: {command[0]} cannot be started: {error.strerror}") from error
        try:
            yield ClientProcess(client, process, log)
        finally:
            process.kill()
            process.communicate()


def _different(capture: Capture, answer: object, endpoint: Endpoint) -> tuple[str, ...]:
    """Fields of the final object, read as an unstreamed response, that have other text than was delivered.

    The content and the calls, whose arguments are compared as JSON where they are: `reasoning` is vLLM's own
    field, of which each client keeps what it likes.
    """
    header = replace(capture.header, endpoint=endpoint)
    body = Event(dumps(answer), None, "", EventKind.BODY)
    accumulated = read(Capture(header=header, events=(body,), end=None)).choice.delivered().by_field()
    delivered = read(capture).choice.delivered().by_field()
    names = [name for name in {**delivered, **accumulated} if name == CONTENT or tool_index(name) is not None]
    return tuple(name for name in names if not _same_text(delivered.get(name, ""), accumulated.get(name, "")))


def _same_text(text: str, other: str) -> bool:
    """Equal texts, or JSON of equal value; a call without arguments has an empty object."""
    return text == other or ((value := loads(text or "{}")) is not None and value == loads(other or "{}"))


def _offered(request: Mapping[str, Any]) -> set[str]:
    """Names of the functions that a request offers."""
    tools = request.get("tools")
    names = set()
    for tool in tools if isinstance(tools, list) else ():
        function = tool.get("function", tool) if isinstance(tool, dict) else {}
        name = function.get("name") if isinstance(function, dict) else None
        if isinstance(name, str):
            names.add(name)
    return names


def _lines(event: Event) -> str:
    """An event as lines of a stream."""
    if event.kind is EventKind.COMMENT:
        return "".join(f": {line}\n" for line in event.data.splitlines()) + "\n"
    name = f"event: {event.name}\n" if event.name else ""
    return name + "".join(f"data: {line}\n" for line in event.data.split("\n")) + "\n"
