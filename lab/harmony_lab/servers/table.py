"""The other servers of the lab, by name."""

from collections.abc import Mapping
from typing import Final

from harmony_lab.servers.dynamo import DYNAMO
from harmony_lab.servers.llama import LLAMA_SERVER
from harmony_lab.servers.server import LabServer
from harmony_lab.servers.sglang import SGLANG_RUST, SGLANG_RUST_CLI

__all__ = ["SERVERS", "LabServer"]

SERVERS: Final[Mapping[str, LabServer]] = {
    server.name: server for server in (SGLANG_RUST, SGLANG_RUST_CLI, DYNAMO, LLAMA_SERVER)
}
