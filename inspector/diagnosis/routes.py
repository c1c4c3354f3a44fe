"""What a text is about when it is not about Harmony in vLLM: another server, or a server that does not start.

The table is `routes.yaml`: a new server needs no code. A route is no known issue and names no side at fault.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final

from inspector.diagnosis.safe_yaml import read_yaml
from inspector.diagnosis.schema import Fields, anywhere, identifier, several, text, word
from inspector.engines import DEFAULT, ENGINES

__all__ = [
    "DEFAULT_FILE",
    "Route",
    "RouteKind",
    "find_server",
    "find_startup",
    "names_ours",
    "routes",
    "runs_ours",
]

DEFAULT_FILE: Final = Path(__file__).with_name("routes.yaml")


class RouteKind(StrEnum):
    """Where a text belongs."""

    SERVER = "server"
    """Another server, whose parser is its own."""
    STARTUP = "startup"
    """vLLM does not start, or its engine fails on the device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One place to send a reader to."""

    id: str
    kind: RouteKind
    name: str
    """The server's name, or what happens."""
    sentence: str
    steps: tuple[str, ...]
    """What to do, best first."""
    marks: tuple[re.Pattern[str], ...]
    """What only this server, or this failure, prints."""
    words: tuple[re.Pattern[str], ...] = ()
    """Of a server its name, which counts where vLLM is not named; of a failure what other programs print too,
    which counts beside words of vLLM only."""
    needs: tuple[re.Pattern[str], ...] = ()
    """`marks` and `words` count only where one of these is found too."""
    links: tuple[str, ...] = ()


@cache
def routes() -> tuple[Route, ...]:
    """The table that comes with this package."""
    return tuple(_route(entry) for entry in read_yaml(DEFAULT_FILE.read_text(encoding="utf-8")))


def _route(entry: object) -> Route:
    fields = Fields(entry, "the route")
    kind = fields.take("kind", word(RouteKind))
    name = fields.take("name", text)
    route = Route(
        id=fields.take("id", identifier),
        kind=kind,
        name=name,
        sentence=fields.take(
            "sentence",
            text,
            f"This is {name}: it has its own parser, and the known issues of {DEFAULT.label} do not apply.",
        ),
        steps=fields.take("steps", several(text)),
        marks=fields.take("marks", several(anywhere)),
        words=fields.take("words", several(anywhere), ()),
        needs=fields.take("needs", several(anywhere), ()),
        links=fields.take("links", several(text), ()),
    )
    fields.done()
    return route


_COMPARED: Final = re.compile(
    r"(?i)\b(?:ollama|llama\.?cpp|sglang|lm ?studio)\b[^.\n]{0,50}"
    r"\b(?:is ok(?:ay)?|works?|worked|is fine|runs? fine|can run)\b"
    r"|\b(?:works?|worked|fine|no (?:problem|issue)s?|not happen\w*)\b[^.\n]{0,30}\b(?:with|in|on|using) "
    r"(?:ollama|llama\.?cpp|sglang|lm ?studio)\b"
)
"""Another server as the one that works, beside ours."""


def runs_ours(content: str) -> bool:
    """Whether a text has what one of our engines prints itself, or what starts it."""
    return any(engine.printed is not None and engine.printed.search(content) for engine in ENGINES)


def names_ours(content: str) -> bool:
    """Whether a text names one of our engines."""
    return any(engine.named is not None and engine.named.search(content) for engine in ENGINES)


def _times_ours(content: str) -> int:
    return sum(len(engine.printed.findall(content)) for engine in ENGINES if engine.printed is not None)


def find_server(content: str) -> Route | None:
    """The other server that a text is about; None where it is about vLLM, or about no server."""
    known = [
        route
        for route in routes()
        if route.kind is RouteKind.SERVER
        and (not route.needs or any(expression.search(content) for expression in route.needs))
    ]
    own = runs_ours(content)
    if names_ours(content) and _COMPARED.search(content):
        return None
    if marked := _most(known, content, marks=True):
        # A log of ours that only names a path or a model of another program stays ours.
        theirs = sum(len(mark.findall(content)) for mark in marked.marks)
        return None if own and theirs <= _times_ours(content) else marked
    return None if own or names_ours(content) else _most(known, content, marks=False)


def find_startup(content: str, *, failing: bool) -> Route | None:
    """What keeps the server from starting, or stops its engine; None where nothing says so.

    Where nothing else is `failing`, only what no other program prints counts.
    """
    own = failing and (runs_ours(content) or names_ours(content))
    for route in routes():
        if route.kind is RouteKind.STARTUP:
            expressions = (*route.marks, *(route.words if own else ()))
            if any(expression.search(content) for expression in expressions):
                return route
    return None


def _most(known: Sequence[Route], content: str, *, marks: bool) -> Route | None:
    """The server with the most of its expressions in a text; the first of several."""
    counted = [
        (sum(one.search(content) is not None for one in (route.marks if marks else route.words)), route)
        for route in known
    ]
    best = max((count for count, _ in counted), default=0)
    return next((route for count, route in counted if count == best), None) if best else None
