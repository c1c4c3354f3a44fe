"""What is particular to each server or front end: a module for each, and the table of all."""

from inspector.protocol.engines.engine import VERSION_AT_MOST, Engine
from inspector.protocol.engines.table import (
    DEFAULT,
    ENGINES,
    OWN_IDS,
    PACKAGES,
    contract_of,
    engine_of,
    says_engine,
    versions_in,
)

__all__ = [
    "DEFAULT",
    "ENGINES",
    "OWN_IDS",
    "PACKAGES",
    "VERSION_AT_MOST",
    "Engine",
    "contract_of",
    "engine_of",
    "says_engine",
    "versions_in",
]
