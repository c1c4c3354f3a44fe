"""The table of engines: a new one is a module beside this one and a name in `ENGINES`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from inspector.engines.engine import Engine
from inspector.engines.vllm import VLLM
from inspector.engines.vllm_rust import VLLM_RUST

__all__ = ["DEFAULT", "ENGINES", "OWN_IDS", "PACKAGES", "engine_of", "versions_in"]

ENGINES: Final = (VLLM, VLLM_RUST)

DEFAULT: Final = VLLM
"""What a capture is taken to come from when nothing tells."""

PACKAGES: Final = tuple(engine.package for engine in ENGINES if engine.package)
"""Python packages of the engines, as tracebacks name them."""

OWN_IDS: Final[tuple[Callable[[Mapping[str, Any]], Sequence[int]], ...]] = tuple(
    engine.own_ids for engine in ENGINES if engine.own_ids is not None
)
"""Readers of token ids in places of a server's own."""


def engine_of(*, owned_by: str | None = None, fingerprint: str | None = None) -> Engine:
    """The engine by its own word, `owned_by` of its model list or `system_fingerprint`; else the default."""
    for engine in ENGINES:
        if owned_by in engine.owners:
            return engine
    return next((engine for engine in ENGINES if engine.version_of(fingerprint)), DEFAULT)


def versions_in(line: str) -> Iterator[tuple[str, str]]:
    """Versions that a line of a log or an error text tells, with what tells them, best first."""
    for engine in ENGINES:
        for source, expression in engine.version_lines:
            if found := expression.search(line):
                yield found["version"].rstrip("."), source
