"""SDKs over responses that were just recorded, beside what they made of the stored ones."""

from collections.abc import Mapping

from harmony_lab.clients import CLIENTS, reader
from harmony_lab.paths import LabPaths
from harmony_lab.recording import Target
from inspector.capture.capture import Capture
from inspector.matrix.receivers import OUTCOMES, load_clients
from inspector.matrix.results import MatrixRun, default_root


def assert_clients_read_as_before(run: MatrixRun, captures: Mapping[Target, Capture]) -> None:
    """Each SDK, installed if it is not there, has the outcome of the shipped results for each response."""
    assert captures
    different = []
    for client in CLIENTS:
        stored = load_clients().view(client.label, run).scores
        with reader(LabPaths(default_root()), client) as client_reader:
            assert client_reader.name == client.label
            for target, capture in captures.items():
                expected = stored.get((target.endpoint, target.script.name))
                reading = client_reader.read(capture)
                if expected is not None and (
                    reading is None or OUTCOMES[reading.outcome] is not expected.outcome
                ):
                    different.append((client.label, target, expected, reading))
    assert different == []
