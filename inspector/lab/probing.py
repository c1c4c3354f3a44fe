"""The lab's scripts as requests of a probe."""

from collections.abc import Sequence

from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.fleet.probe import ProbeRequest
from inspector.lab.bodies import request_body
from inspector.lab.scripts import named


def script_asks(names: Sequence[str], endpoints: Sequence[Endpoint]) -> list[ProbeRequest]:
    """The requests that make a lab server sample scripts, on each endpoint in turn.

    Raises LabError for an unknown script, or if no script can run on these endpoints.
    """
    asks = [
        ProbeRequest(
            label=script.name, endpoint=endpoint, body=request_body(endpoint, script), script=script.sampled
        )
        for script in named(names)
        for endpoint in endpoints
        if endpoint in script.endpoints
    ]
    if not asks:
        raise LabError(f"no script of these can be asked at {endpoints[0].value}; choose another --endpoint")
    return asks


def script_controls(names: Sequence[str]) -> dict[str, ProbeRequest]:
    """The same scripts on completions, whose output no parser reads; by name."""
    return {
        script.name: ProbeRequest(
            label=script.name,
            endpoint=Endpoint.COMPLETIONS,
            body=request_body(Endpoint.COMPLETIONS, script),
            script=script.sampled,
        )
        for script in named(names)
        if Endpoint.COMPLETIONS in script.endpoints
    }
