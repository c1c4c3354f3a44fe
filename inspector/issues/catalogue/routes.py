"""What a text is about when it is not about Harmony in vLLM: another server, or a server that does not start.

The table is `routes.yaml`: a new server needs no code. A route is no known issue and names no side at fault.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final

from msgspec.structs import force_setattr, replace

from inspector.files.tables import Identifier, Row, Several, Text, read_table
from inspector.issues.catalogue.schema import AnyCase
from inspector.protocol.engines import DEFAULT, ENGINES

DEFAULT_FILE: Final = Path(__file__).with_name("routes.yaml")


class RouteKind(StrEnum):
    """Where a text belongs."""

    SERVER = "server"
    """Another server, whose parser is its own."""
    STARTUP = "startup"
    """vLLM does not start, or its engine fails on the device."""


class Case(Row, frozen=True):
    """What a text says more exactly than its route does."""

    when: AnyCase
    """Of a failure, in the lines that fail; of the text where none does."""
    sentence: Text
    step: Text
    """What to do first."""


class Route(Row, frozen=True, kw_only=True):
    """One place to send a reader to."""

    id: Identifier
    kind: RouteKind
    name: Text
    """The server's name, or what happens."""
    sentence: Text = ""
    """Default reason: the server has its own parser."""
    steps: Several[Text]
    """What to do, best first."""
    marks: Several[AnyCase]
    """What only this server, or this failure, prints."""
    words: tuple[AnyCase, ...] = ()
    """Of a server its name, which counts where vLLM is not named; of a failure what other programs print too,
    which counts beside words of vLLM only."""
    errors: tuple[AnyCase, ...] = ()
    """Of a failure what its error lines name: they count beside words of vLLM, and elsewhere in a text not at
    all."""
    needs: tuple[AnyCase, ...] = ()
    """`marks` and `words` count only where one of these is found too."""
    links: tuple[Text, ...] = ()
    cases: tuple[Case, ...] = ()
    """The first that holds gives the sentence and the first step."""

    def __post_init__(self) -> None:
        if not self.sentence:
            own = f"it has its own parser, and the known issues of {DEFAULT.label} do not apply"
            force_setattr(self, "sentence", f"This is {self.name}: {own}.")


@cache
def routes() -> tuple[Route, ...]:
    """The table that comes with this package."""
    return read_table(DEFAULT_FILE, tuple[Route, ...])


_VLLM_UNNAMED: Final = (
    re.compile(r"(?i)\b(?:serv(?:e|ed|es|ing)|deploy(?:s|ed|ing)?)\b[^.\n]{0,40}\bgpt[-_ ]?oss"),
    re.compile(r"\b(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d \[?[\w/.]{1,60}\.py:\d{1,5}\]"),
)
"""The model on an unnamed server, and the form of vLLM's log: vLLM, if no other server is named."""


_PARSER: Final = re.compile(r"\b\w*(?:tool|reasoning)_?parser\w*\.py\b")
"""The file of a parser, whose failure is none of the device and none of the start."""


def _runs_vllm(content: str) -> bool:
    """Whether a text has what one of our engines prints itself, or what starts it."""
    return any(engine.printed is not None and engine.printed.search(content) for engine in ENGINES)


def names_ours(content: str) -> bool:
    """Whether a text names one of our engines."""
    return any(engine.named is not None and engine.named.search(content) for engine in ENGINES)


def _vllm_count(content: str) -> int:
    return sum(len(engine.printed.findall(content)) for engine in ENGINES if engine.printed is not None)


def find_server(content: str) -> Route | None:
    """The other server that a text is about; None where it is about vLLM, or about no server."""
    servers = [
        route
        for route in routes()
        if route.kind is RouteKind.SERVER
        and (not route.needs or any(need.expression.search(content) for need in route.needs))
    ]
    own = _runs_vllm(content)
    if marked := _most_named(servers, content, marks=True):
        # A log of ours that only names a path or a model of another program stays ours.
        occurrences = sum(len(mark.expression.findall(content)) for mark in marked.marks)
        return None if own and occurrences <= _vllm_count(content) else _exact(marked, content)
    if own or names_ours(content):
        return None
    named = _most_named(servers, content, marks=False)
    return None if named is None else _exact(named, content)


def find_startup(content: str, errors: Sequence[str] = (), *, failing: bool) -> Route | None:
    """What keeps the server from starting, or stops its engine; None where nothing says so.

    `errors` are the lines that fail. Where nothing is `failing`, only what no other program prints counts.
    """
    own = failing and (
        _runs_vllm(content)
        or names_ours(content)
        or any(expression.search(content) for expression in _VLLM_UNNAMED)
    )
    parser = _PARSER.search(content) is not None
    startup = [route for route in routes() if route.kind is RouteKind.STARTUP]
    for route in startup:
        words = (*route.marks, *(route.words if own and not parser else ()))
        if any(word.expression.search(content) for word in words):
            return _exact(route, "\n".join(errors) or content)
    if own:
        for route in startup:
            if any(word.expression.search(line) for word in route.errors for line in errors):
                return _exact(route, "\n".join(errors) or content)
    return None


def _exact(route: Route, content: str) -> Route:
    """A route with the sentence and the first step of its first case that holds."""
    for case in route.cases:
        if case.when.expression.search(content):
            return replace(route, sentence=case.sentence, steps=(case.step, *route.steps))
    return route


def _most_named(candidates: Sequence[Route], content: str, *, marks: bool) -> Route | None:
    """The server with the most of its expressions in a text; the first of several."""
    counted = [
        (
            sum(bool(word.expression.search(content)) for word in (route.marks if marks else route.words)),
            route,
        )
        for route in candidates
    ]
    best = max((count for count, _ in counted), default=0)
    return next((route for count, route in counted if count == best), None) if best else None
