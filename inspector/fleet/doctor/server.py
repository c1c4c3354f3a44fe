"""All checks of one server, and the known faults of its release that they do not test."""

from collections.abc import Iterator
from typing import Any

import httpx

from inspector.fleet.doctor.checks import Check, Checkup, KnownFault, failed, ok, unknown, warning
from inspector.fleet.doctor.streams import Streams
from inspector.issues.advice import known_faults
from inspector.issues.catalogue.steps import Situation, first_step
from inspector.net.client.address import Server
from inspector.net.client.failures import connection_failure, refusal
from inspector.net.client.server_info import blocking_client, owner_in
from inspector.net.runs.registry import Registry
from inspector.protocol.engines import DEFAULT, Engine, engine_of
from inspector.protocol.wire.stream import loads


def check_server(server: Server, *, model: str | None = None, registry: Registry | None = None) -> Checkup:
    """Check a server; blocks until its streams have ended. `model` None takes its gpt-oss model."""
    with blocking_client(server, httpx.Timeout(10.0, connect=server.connect_s)) as client:
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


class Basics:
    """Checks that need no generation."""

    def __init__(self, server: Server, client: httpx.Client, model: str | None) -> None:
        self.server = server
        self.client = client
        self.model = model
        self.version: str | None = None
        self.reachable = False
        self.owner: str | None = None

    def checks(self) -> Iterator[Check]:
        """Send the requests; also sets model, version and owner."""
        listing = self._get(f"{self.server.v1}/models", "/models")
        if isinstance(listing, str):
            yield failed("reachable", listing, "Start the server, or correct its address or key.")
            return
        self.reachable = True
        self.owner = owner_in(listing, self.model)
        versions = self._versions()
        models = self._models(listing)
        self.owner = owner_in(listing, self.model)
        yield ok("reachable", f"{self.server.v1} responds.")
        health = self._status(f"{self.server.root}/health")
        if health == 200:
            yield ok("health", "/health returned 200.")
        else:
            sentence = f"/health returned {health}" if health else "/health does not answer"
            change = "Look at the server's log; if a proxy in front hides /health, name the server itself."
            yield warning("health", f"{sentence}.", change)
        yield versions
        yield self._front_end(self.owner)
        yield models

    @property
    def engine(self) -> Engine:
        """The engine, by what is known so far."""
        return engine_of(owned_by=self.owner, version=self.version, address=self.server.v1)

    def _get(self, address: str, path: str) -> dict[str, Any] | str:
        try:
            response = self.client.get(address)
        except httpx.HTTPError as error:
            return connection_failure(error, self.server).sentence
        payload = loads(response.text) if response.status_code == 200 else None
        if not isinstance(payload, dict):
            return refusal(response.status_code, response.text, self.server, path=path).sentence
        return payload

    def _status(self, address: str) -> int | None:
        try:
            return self.client.get(address).status_code
        except httpx.HTTPError:
            return None

    def _versions(self) -> Check:
        path = self.engine.version_path
        version_info = self._get(f"{self.server.root}{path}", path)
        version = version_info.get("version") if isinstance(version_info, dict) else None
        if not isinstance(version, str):
            return unknown(
                "version",
                f"{path} does not report a release.",
                "A proxy may hide it, or the server reports none; name the server itself in --base-url.",
            )
        self.version = version
        return ok("version", f"{path} reports {version}.")

    def _front_end(self, owner: str | None) -> Check:
        name = "front end"
        assumed = f"{DEFAULT.front_end} is assumed." if self.engine.may_be else "which it is, is unknown."
        if owner is None:
            return unknown(name, f"The model list does not say who answers (owned_by); {assumed}")
        if owner not in self.engine.owners:
            return unknown(name, f"The model list names no known server (owned_by: {owner}); {assumed}")
        return ok(name, f"{self.engine.front_end or self.engine.label} answers (owned_by: {owner}).")

    def _models(self, listing: dict[str, Any]) -> Check:
        cards = listing.get("data")
        cards = [card for card in cards if isinstance(card, dict)] if isinstance(cards, list) else []
        names = [str(card.get("id")) for card in cards]
        listed = ", ".join(names[:5]) + (" and others" if len(names) > 5 else "")
        if not names:
            return failed(
                "models",
                "The server lists no model.",
                self.engine.start_hint,
            )
        if self.model is not None:
            if self.model in names:
                return ok("models", f"It serves {self.model}.")
            return failed("models", f"It does not serve {self.model}.", f"Use one of: {listed}.")
        own = [str(card.get("id")) for card in cards if "gpt-oss" in f"{card.get('id')} {card.get('root')}"]
        self.model = (own or names)[0]
        if own:
            return ok("models", f"It serves {self.model}.")
        return warning(
            "models",
            f"No model is called gpt-oss; {self.model} was asked.",
            f"Name the gpt-oss model with --model; there are: {listed}.",
        )
