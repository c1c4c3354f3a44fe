"""The servers that the matrix has results of."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from inspector.protocol.engines import DEFAULT, Engine
from inspector.protocol.engines.vllm_rust import VLLM_RUST

VLLM_FRONT_ENDS: Final[Mapping[str, Engine]] = {"python": DEFAULT, "rust": VLLM_RUST}
"""VLLM's front ends, by the name that results have."""


class OtherServer(NamedTuple):
    """A server with one configuration."""

    label: str
    """For users, with what is special about its configuration."""
    note: str = ""
    """What readers of its results must know of the configuration, in a sentence or two."""
    steps_vary: bool = True
    """False if each step has one token, so that there is no result for other steps."""


SERVERS: Final[Mapping[str, OtherServer]] = {
    "sglang-rust": OtherServer(
        "SGLang Rust (harmony)",
        "With the tool-call parser that its registry has for gpt-oss. "
        "SGLang's command line refuses this name.",
    ),
    "sglang-rust-cli": OtherServer(
        "SGLang Rust (gpt-oss)",
        "With the tool-call parser that SGLang's command line takes for gpt-oss. "
        "The server refuses each request with tools: it has no parser of this name.",
    ),
    "dynamo": OtherServer("Dynamo"),
    "llama-server": OtherServer(
        "llama-server", "With tools its grammar may refuse a token of the script (*).", steps_vary=False
    ),
}
"""By the name that results have as their package."""
