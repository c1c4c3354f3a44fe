"""How a running server of the lab is asked, and how its streams are checked: by its row, or as vLLM is."""

from functools import partial

from harmony_lab.install import Environment
from harmony_lab.process import ServerProcess
from harmony_lab.recording import Body
from harmony_lab.servers.table import SERVERS
from harmony_lab.standin.checking import chunking_fault
from harmony_lab.standin.serving import StandinServer
from inspector.capture.capture import Capture
from inspector.matrix.requests import request_body


def body_of(package: str, step: str) -> Body:
    """Makes the requests of one condition of the matrix."""
    other_server = SERVERS.get(package)
    return request_body if other_server is None else partial(other_server.body, steps=step)


def version_of(environment: Environment) -> str | None:
    """The version of a server that is not vLLM, which has no `/version`."""
    return environment.version if environment.package in SERVERS else None


def fault_of(package: str, running: ServerProcess, capture: Capture, schedule: str) -> str | None:
    """Why a recorded stream cannot be scored; None if it followed its schedule, or nobody logged that."""
    if (other_server := SERVERS.get(package)) is not None:
        return other_server.fault(running, capture, schedule)
    return chunking_fault(running.engine, capture, schedule) if isinstance(running, StandinServer) else None
