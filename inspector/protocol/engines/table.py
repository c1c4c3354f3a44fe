"""The table of servers, hosted services and gateways: a new one is a row of a module and a name here."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlsplit

from inspector.protocol.engines.desktop import LM_STUDIO, OLLAMA
from inspector.protocol.engines.dynamo import DYNAMO
from inspector.protocol.engines.engine import IN_CHOICE, Engine
from inspector.protocol.engines.gateways import AGENTIC_API, LITELLM, OPENROUTER
from inspector.protocol.engines.hosted import BEDROCK, CEREBRAS, CLOUDFLARE, FIREWORKS, GROQ, TOGETHER
from inspector.protocol.engines.llama_cpp import LLAMA_CPP
from inspector.protocol.engines.others import LMDEPLOY, TENSORRT_LLM
from inspector.protocol.engines.replays import original_owner
from inspector.protocol.engines.sglang import SGLANG
from inspector.protocol.engines.vllm import VLLM
from inspector.protocol.engines.vllm_rust import VLLM_RUST
from inspector.protocol.wire.stream import Extensions, Stream

_SERVERS: Final = (VLLM, VLLM_RUST, SGLANG, DYNAMO, LLAMA_CPP, OLLAMA, LM_STUDIO, TENSORRT_LLM, LMDEPLOY)
_HOSTED: Final = (GROQ, FIREWORKS, TOGETHER, CEREBRAS, CLOUDFLARE, BEDROCK)

ENGINES: Final = (*_SERVERS, *_HOSTED)

GATEWAYS: Final = (AGENTIC_API, LITELLM, OPENROUTER)

DEFAULT: Final = VLLM
"""The server that a text is about if it names none, and whose releases the lab has."""

_ANY_SEPARATOR: Final = replace(
    DEFAULT.contract,
    separator=next(engine.contract.separator for engine in ENGINES if engine.contract.separator),
)

EITHER_VLLM: Final = replace(
    VLLM,
    front_end="",
    contract=_ANY_SEPARATOR,
    may_be=frozenset({VLLM_RUST.program}),
    members=frozenset(
        {
            *("token_ids", "prompt_token_ids", "prompt_logprobs", "stop_reason", "kv_transfer_params"),
            *("input_messages", "output_messages", "response.reasoning_part.added"),
        }
    ),
)
"""vLLM with an unknown front end: members that both front ends send do not distinguish them. Others copied
some of these members, and have members of their own besides (vllm/entrypoints/openai/*/protocol.py of
0.30.0)."""

UNKNOWN: Final = Engine(
    name="unknown",
    label="server unknown",
    contract=_ANY_SEPARATOR,
    keys_note="a key of vLLM, which other servers may not know",
)
"""Nothing says which server it is, so no release, issue or flag of one is about it."""

_ASKED_FOR: Final = frozenset({"return_token_ids", "return_tokens_as_token_ids", "enable_response_messages"})
"""Members of a request that somebody sends who knows vLLM at the other end."""

PACKAGES: Final = tuple(engine.package for engine in ENGINES if engine.package)
"""Python packages of the engines, as tracebacks name them."""

_PLACES: Final = [path for engine in ENGINES for path in engine.ids_at]
EXTENSIONS: Final = Extensions(
    members=frozenset().union(*(row.members for row in (*ENGINES, *GATEWAYS, EITHER_VLLM))),
    ids_at=tuple(tuple(path.split(".")) for path in _PLACES if not path.startswith(IN_CHOICE)),
    choice_ids_at=tuple(
        tuple(path.removeprefix(IN_CHOICE).split(".")) for path in _PLACES if path.startswith(IN_CHOICE)
    ),
    usage_at=tuple(tuple(engine.usage_at.split(".")) for engine in ENGINES if engine.usage_at),
)
"""What the readers of streams look for beside what all servers send."""


def engine_of(
    *,
    owned_by: str | None = None,
    version: str | None = None,
    address: str = "",
    request: Mapping[str, Any] | None = None,
    model: str | None = None,
    stream: Stream | None = None,
) -> Engine:
    """The server that sent a response, or will, by what is known of it; `UNKNOWN` without any sign.

    By `owned_by` of the model list, else by the host of its address, members that it alone sends, the name
    of the model, `system_fingerprint` or a gateway's word. Last come the signs of vLLM that do not tell its
    front ends apart: its members and token IDs, a version of /version, what the request asks for.
    """
    owner, host = original_owner(owned_by), (urlsplit(address).hostname or "") if address else ""
    stream = stream or Stream()
    model = model or stream.model or ""
    by_strength: tuple[tuple[object, Callable[[Engine], object]], ...] = (
        (owner, lambda row: owner in row.owners),
        (host, lambda row: any(f".{host}".endswith(f".{domain}") for domain in row.hosts)),
        (stream.members, lambda row: row.members & stream.members),
        (model, lambda row: row.models is not None and row.models.match(model)),
        (stream.fingerprint, lambda row: row.version_of(stream.fingerprint) is not None),
        (stream.provider, lambda row: row.label == stream.provider),
    )
    for sign, names in by_strength:
        if sign and (row := next(filter(names, ENGINES), None)) is not None:
            return row
    if version or stream.members & EITHER_VLLM.members or any(c.tokens.ids for c in stream.choices.values()):
        return EITHER_VLLM
    asked = owner is None and gateway_of(stream) is None and not _ASKED_FOR.isdisjoint(request or ())
    return EITHER_VLLM if asked else UNKNOWN


def gateway_of(stream: Stream) -> Engine | None:
    """The proxy between that a response names."""
    return next((gateway for gateway in GATEWAYS if gateway.members & stream.members), None)


def versions_in(line: str) -> Iterator[tuple[str, str]]:
    """Versions in a line of a log or an error text, each with its source, best first."""
    for engine in ENGINES:
        for source, expression in engine.version_lines:
            if match := expression.search(line):
                yield match["version"].rstrip("."), source
