"""A server's other paths, asked without the openai client: its models, its version, its certificates."""

import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from inspector.capture.capture import Endpoint
from inspector.capture.errors import ConnectionFailed
from inspector.net.client.address import Server
from inspector.net.client.failures import connection_failure, refusal
from inspector.net.client.outcome import RequestFailed
from inspector.net.client.redirects import checked, within_host
from inspector.protocol.wire.endpoints import spec_of
from inspector.protocol.wire.stream import loads


def open_client(server: Server, inner: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    """A plain client for the server's other paths; raises ConnectionFailed for a bad CA file."""
    return httpx.AsyncClient(
        transport=inner or transport_to(server),
        headers=server.request_headers(),
        timeout=timeouts(server),
        follow_redirects=True,
        event_hooks=within_host(server),
    )


async def get_json(server: Server, address: str, client: httpx.AsyncClient) -> Any:
    """The JSON at a URL; raises ConnectionFailed if it is not available."""
    try:
        answer = await client.get(address, timeout=server.connect_s)
    except httpx.HTTPError as error:
        raise RequestFailed(connection_failure(error, server)) from error
    path = address.removeprefix(server.v1).removeprefix(server.root)
    if answer.status_code >= 400 or (found := loads(answer.text)) is None:
        raise RequestFailed(refusal(answer.status_code, answer.text, server, path=path))
    return found


async def version_and_owner(
    server: Server, model: str, client: httpx.AsyncClient
) -> tuple[str | None, str | None]:
    """The server's version and the owner of a model by its own word, None where it says nothing.

    Raises ConnectionFailed if it does not answer at `/version`.
    """
    told = await get_json(server, f"{server.root}/version", client)
    version = told.get("version") if isinstance(told, dict) else None
    # The built-in server and proxies may answer with a word; only a number is a version.
    version = version if isinstance(version, str) and version[:1].isdecimal() else None
    owner = None
    with suppress(ConnectionFailed):
        owner = owner_in(await get_json(server, f"{server.v1}/models", client), model)
    return version, owner


def owner_in(models: object, model: str | None = None) -> str | None:
    """Who owns a model by the server's list, or the first one: the name of the server or front end."""
    cards = models.get("data") if isinstance(models, dict) else None
    cards = [card for card in cards if isinstance(card, dict)] if isinstance(cards, list) else []
    card = next((card for card in cards if card.get("id") == model), cards[0] if cards else {})
    owner = card.get("owned_by")
    return owner if isinstance(owner, str) else None


def list_models(server: Server, endpoint: Endpoint | None = None) -> list[str]:
    """Names of the models that a server lists; raises ConnectionFailed with the fix.

    With an endpoint, models whose card says that they are served elsewhere only are left out.
    """
    address = f"{server.v1}/models"
    try:
        with httpx.Client(
            headers=server.request_headers(),
            timeout=server.connect_s,
            verify=trust(server.verify),
            trust_env=False,
            follow_redirects=True,
            event_hooks={"response": [lambda response: checked(response, server)]},
        ) as client:
            answer = client.get(address)
    except httpx.HTTPError as error:
        asked = replace(server, silence_s=server.connect_s)
        raise RequestFailed(connection_failure(error, asked)) from error
    found = loads(answer.text) if answer.status_code == 200 else None
    cards = found.get("data") if isinstance(found, dict) else None
    if not isinstance(cards, list):
        raise RequestFailed(refusal(answer.status_code, answer.text, server, path="/models"))
    cards = [card for card in cards if isinstance(card, dict) and isinstance(card.get("id"), str)]
    return [card["id"] for card in cards if endpoint is None or _serves(card, endpoint)]


def _serves(card: Mapping[str, Any], endpoint: Endpoint) -> bool:
    told = card.get("endpoints")
    return not isinstance(told, list) or spec_of(endpoint).full_path in told


def timeouts(server: Server) -> httpx.Timeout:
    """How long is waited: for the connection, and for the next bytes."""
    return httpx.Timeout(server.silence_s, connect=server.connect_s)


def transport_to(server: Server) -> httpx.AsyncHTTPTransport:
    """A transport that trusts what the server's address says; raises ConnectionFailed for a bad CA file."""
    return httpx.AsyncHTTPTransport(verify=trust(server.verify))


@cache  # loading the certificates takes longer than a local request
def trust(verify: bool | str) -> ssl.SSLContext:
    """What `Server.verify` means; raises ConnectionFailed for a file without certificates."""
    if isinstance(verify, bool):
        return httpx.create_ssl_context(verify=verify)
    try:
        return ssl.create_default_context(cafile=Path(verify).expanduser())
    except (OSError, ssl.SSLError) as error:
        raise ConnectionFailed(
            f"{verify} contains no readable CA certificates ({error}); use a PEM file"
        ) from error
