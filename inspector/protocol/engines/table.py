"""The table of engines: a new one is a module beside this one and a name in `ENGINES`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
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
from inspector.protocol.wire.stream import Stream

ENGINES: Final = (VLLM, VLLM_RUST, SGLANG, DYNAMO, LLAMA_CPP, OLLAMA, LM_STUDIO)

DEFAULT: Final = VLLM
"""The engine that is assumed when a capture does not name one."""

_ANY_SEPARATOR: Final = replace(
    DEFAULT.contract,
    separator=next(engine.contract.separator for engine in ENGINES if engine.contract.separator),
)

PACKAGES: Final = tuple(engine.package for engine in ENGINES if engine.package)
"""Python packages of the engines, as tracebacks name them."""

OWN_IDS: Final[Mapping[str, Callable[[Mapping[str, Any]], Sequence[int] | None]]] = {
    engine.name: engine.own_ids for engine in ENGINES if engine.own_ids is not None
}
"""By engine, a reader of token IDs that it alone has elsewhere than the others."""


def engine_of(*, owned_by: str | None = None, stream: Stream | None = None) -> Engine:
    """The engine that sent a response, by its own words; the default where it has none.

    By `owned_by` of the model list, else by a place of token IDs that only one engine has, else by
    `system_fingerprint`.
    """
    return _named(owned_by, stream) or DEFAULT


def says_engine(*, owned_by: str | None = None, stream: Stream | None = None) -> bool:
    """Whether one of them names the engine; otherwise the default is only assumed."""
    return _named(owned_by, stream) is not None


def contract_of(*, owned_by: str | None = None, stream: Stream | None = None) -> Contract:
    """The contract of the engine; of an unknown one, the default with the separators that any engine adds."""
    engine = _named(owned_by, stream)
    return _ANY_SEPARATOR if engine is None else engine.contract


def _named(owned_by: str | None, stream: Stream | None) -> Engine | None:
    owner = original_owner(owned_by)
    sent_by, fingerprint = (None, None) if stream is None else (stream.sent_by, stream.fingerprint)
    by_strength = (
        (engine for engine in ENGINES if owner in engine.owners),
        (engine for engine in ENGINES if engine.name == sent_by),
        (engine for engine in ENGINES if engine.version_of(fingerprint) is not None),
    )
    return next(chain.from_iterable(by_strength), None)


def versions_in(line: str) -> Iterator[tuple[str, str]]:
    """Versions in a line of a log or an error text, each with its source, best first."""
    for engine in ENGINES:
        for source, expression in engine.version_lines:
            if match := expression.search(line):
                yield match["version"].rstrip("."), source
