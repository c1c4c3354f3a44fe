"""All checks of one server, and the known faults of its release that they do not test."""

import httpx

from inspector.fleet.doctor.basics import Basics
from inspector.fleet.doctor.checks import Check, Checkup, KnownFault
from inspector.fleet.doctor.streams import Streams
from inspector.issues.advice import known_faults
from inspector.issues.steps import Situation, first_step
from inspector.net.client.address import Server
from inspector.net.client.server_info import trust
from inspector.net.runs.registry import Registry


def check_server(server: Server, *, model: str | None = None, registry: Registry | None = None) -> Checkup:
    """Check a server; blocks until its streams have ended. `model` None takes its gpt-oss model."""
    with httpx.Client(
        headers=server.request_headers(),
        timeout=httpx.Timeout(10.0, connect=server.connect_s),
        verify=trust(server.verify),
    ) as client:
        basics = Basics(server, client, model)
        checks: list[Check] = list(basics.checks())
    faults: tuple[KnownFault, ...] = ()
    if basics.model is not None and basics.reachable:
        streams = Streams(server, basics.model, registry or Registry(None), basics.engine)
        checks.extend(streams.checks())
        situation = Situation(version=basics.version, engine=basics.engine)
        faults = tuple(
            KnownFault(issue.id, issue.title, first_step(issue, situation))
            for issue in known_faults(situation, absent=streams.absent, observed=streams.shown)
        )
    return Checkup(
        address=server.v1,
        version=basics.version,
        model=basics.model,
        engine=basics.engine,
        checks=tuple(checks),
        faults=faults,
    )
