"""The other servers of the lab, by name."""

from collections.abc import Mapping
from typing import Final

from inspector.lab.servers.server import LabServer

__all__ = ["SERVERS", "LabServer"]

SERVERS: Final[Mapping[str, LabServer]] = {server.name: server for server in ()}
