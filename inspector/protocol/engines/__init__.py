"""What is particular to one server or front end: a module each, and the table that tells them apart."""

from inspector.protocol.engines.engine import Engine
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
    "Engine",
    "contract_of",
    "engine_of",
    "says_engine",
    "versions_in",
]
