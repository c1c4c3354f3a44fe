"""What is particular to each server, hosted service and gateway: a row for each, and the table of all."""

from inspector.protocol.engines.engine import VERSION_AT_MOST, Engine
from inspector.protocol.engines.table import (
    DEFAULT,
    EITHER_VLLM,
    ENGINES,
    EXTENSIONS,
    GATEWAYS,
    PACKAGES,
    UNKNOWN,
    engine_of,
    gateway_of,
    versions_in,
)

__all__ = [
    "DEFAULT",
    "EITHER_VLLM",
    "ENGINES",
    "EXTENSIONS",
    "GATEWAYS",
    "PACKAGES",
    "UNKNOWN",
    "VERSION_AT_MOST",
    "Engine",
    "engine_of",
    "gateway_of",
    "versions_in",
]
