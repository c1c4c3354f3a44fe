"""What is particular to one server or front end: a module each, and the table that tells them apart."""

from inspector.engines.engine import Engine
from inspector.engines.table import DEFAULT, ENGINES, OWN_IDS, PACKAGES, engine_of, versions_in

__all__ = ["DEFAULT", "ENGINES", "OWN_IDS", "PACKAGES", "Engine", "engine_of", "versions_in"]
