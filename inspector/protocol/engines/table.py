"""The table of engines: a new one is a module beside this one and a name in `ENGINES`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from inspector.protocol.engines.engine import Engine
from inspector.protocol.engines.replays import original_owner
from inspector.protocol.engines.vllm import VLLM
from inspector.protocol.engines.vllm_rust import VLLM_RUST
from inspector.protocol.harmony.contract import Contract

ENGINES: Final = (VLLM, VLLM_RUST)

DEFAULT: Final = VLLM
"""What a capture is taken to come from when nothing tells."""

_UNTOLD: Final = replace(
    DEFAULT.contract, separator=next(one.contract.separator for one in ENGINES if one.contract.separator)
)

PACKAGES: Final = tuple(engine.package for engine in ENGINES if engine.package)
"""Python packages of the engines, as tracebacks name them."""

OWN_IDS: Final[tuple[Callable[[Mapping[str, Any]], Sequence[int]], ...]] = tuple(
    engine.own_ids for engine in ENGINES if engine.own_ids is not None
)
"""Readers of token ids in places of a server's own."""


def engine_of(*, owned_by: str | None = None, fingerprint: str | None = None) -> Engine:
    """The engine by its own word, `owned_by` of its model list or `system_fingerprint`; else the default."""
    owner = original_owner(owned_by)
    for engine in ENGINES:
        if owner in engine.owners:
            return engine
    return next((engine for engine in ENGINES if engine.version_of(fingerprint)), DEFAULT)


def says_engine(*, owned_by: str | None = None, fingerprint: str | None = None) -> bool:
    """True when the engine is known by its own word; else it may be any, and the default is assumed."""
    owner = original_owner(owned_by)
    return any(owner in engine.owners or engine.version_of(fingerprint) for engine in ENGINES)


def contract_of(*, owned_by: str | None = None, fingerprint: str | None = None) -> Contract:
    """The contract of the engine; where nothing tells which it is, any engine may have put its separators."""
    told = says_engine(owned_by=owned_by, fingerprint=fingerprint)
    return engine_of(owned_by=owned_by, fingerprint=fingerprint).contract if told else _UNTOLD


def versions_in(line: str) -> Iterator[tuple[str, str]]:
    """Versions that a line of a log or an error text tells, with what tells them, best first."""
    for engine in ENGINES:
        for source, expression in engine.version_lines:
            if found := expression.search(line):
                yield found["version"].rstrip("."), source
