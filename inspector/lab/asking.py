"""How a running server of the lab is asked, and how its streams are checked: by its row, or as vLLM is."""

from functools import partial

from inspector.capture.capture import Capture
from inspector.lab.bodies import request_body
from inspector.lab.install import Environment
from inspector.lab.process import ServerProcess
from inspector.lab.recording import Body
from inspector.lab.servers.table import SERVERS
from inspector.lab.standin.checking import chunking_fault
from inspector.lab.standin.serving import StandinServer


def body_of(package: str, step: str) -> Body:
    """Makes the requests of one condition of the matrix."""
    other = SERVERS.get(package)
    return request_body if other is None else partial(other.body, steps=step)


def version_of(environment: Environment) -> str | None:
    """The version of a server that is not vLLM, which has no `/version`."""
    return environment.version if environment.package in SERVERS else None


def fault_of(package: str, running: ServerProcess, capture: Capture, schedule: str) -> str | None:
    """Why a recorded stream cannot be scored; None if it followed its schedule, or nobody logged that."""
    if (other := SERVERS.get(package)) is not None:
        return other.fault(running, capture, schedule)
    return chunking_fault(running.engine, capture, schedule) if isinstance(running, StandinServer) else None
