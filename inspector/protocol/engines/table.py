"""The table of engines: a new one is a module beside this one and a name in `ENGINES`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from inspector.protocol.engines.desktop import LM_STUDIO, OLLAMA
from inspector.protocol.engines.dynamo import DYNAMO
from inspector.protocol.engines.engine import Engine
from inspector.protocol.engines.llama_cpp import LLAMA_CPP
from inspector.protocol.engines.replays import original_owner
from inspector.protocol.engines.sglang import SGLANG
from inspector.protocol.engines.vllm import VLLM
from inspector.protocol.engines.vllm_rust import VLLM_RUST
from inspector.protocol.harmony.contract import Contract

ENGINES: Final = (VLLM, VLLM_RUST, SGLANG, DYNAMO, LLAMA_CPP, OLLAMA, LM_STUDIO)

DEFAULT: Final = VLLM
"""The engine that is assumed when a capture does not name one."""

_ANY_SEPARATOR: Final = replace(
    DEFAULT.contract,
    separator=next(engine.contract.separator for engine in ENGINES if engine.contract.separator),
)

PACKAGES: Final = tuple(engine.package for engine in ENGINES if engine.package)
"""Python packages of the engines, as tracebacks name them."""

OWN_IDS: Final[tuple[Callable[[Mapping[str, Any]], Sequence[int]], ...]] = tuple(
    engine.own_ids for engine in ENGINES if engine.own_ids is not None
)
"""Readers of token IDs that some server has elsewhere than the others."""


def engine_of(*, owned_by: str | None = None, fingerprint: str | None = None) -> Engine:
    """The engine that `owned_by` of the model list or `system_fingerprint` names; else the default."""
    owner = original_owner(owned_by)
    for engine in ENGINES:
        if owner in engine.owners:
            return engine
    return next((engine for engine in ENGINES if engine.version_of(fingerprint) is not None), DEFAULT)


def says_engine(*, owned_by: str | None = None, fingerprint: str | None = None) -> bool:
    """Whether one of the two names the engine; otherwise the default is only assumed."""
    owner = original_owner(owned_by)
    return any(owner in engine.owners or engine.version_of(fingerprint) is not None for engine in ENGINES)


def contract_of(*, owned_by: str | None = None, fingerprint: str | None = None) -> Contract:
    """The contract of the engine; of an unknown one, the default with the separators that any engine adds."""
    is_named = says_engine(owned_by=owned_by, fingerprint=fingerprint)
    return engine_of(owned_by=owned_by, fingerprint=fingerprint).contract if is_named else _ANY_SEPARATOR


def versions_in(line: str) -> Iterator[tuple[str, str]]:
    """Versions in a line of a log or an error text, each with its source, best first."""
    for engine in ENGINES:
        for source, expression in engine.version_lines:
            if match := expression.search(line):
                yield match["version"].rstrip("."), source
