"""What a server reports at its other paths, read without the openai client: its models, its version."""

import ssl
from collections.abc import Mapping
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
from inspector.protocol.engines import engine_of
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


def blocking_client(server: Server, timeout: httpx.Timeout | float) -> httpx.Client:
    """As `open_client`, for a caller that waits; no proxy of the environment sees the key either."""
    return httpx.Client(
        headers=server.request_headers(),
        timeout=timeout,
        verify=trust(server.verify),
        trust_env=False,
        follow_redirects=True,
        event_hooks={"response": [lambda response: checked(response, server)]},
    )


async def get_json(server: Server, address: str, client: httpx.AsyncClient) -> Any:
    """The JSON at a URL; raises ConnectionFailed if it is not available."""
    try:
        response = await client.get(address, timeout=server.connect_s)
    except httpx.HTTPError as error:
        raise RequestFailed(connection_failure(error, server)) from error
    path = address.removeprefix(server.v1).removeprefix(server.root)
    if response.status_code >= 400 or (payload := loads(response.text)) is None:
        raise RequestFailed(refusal(response.status_code, response.text, server, path=path))
    return payload


async def version_and_owner(
    server: Server, model: str, client: httpx.AsyncClient
) -> tuple[str | None, str | None]:
    """The version that the server reports and the owner of a model (`owned_by`); None where it reports none.

    Raises ConnectionFailed if it has neither a model list nor a version where its engine reports one.
    """
    owner, failure = None, None
    try:
        owner = owner_in(await get_json(server, f"{server.v1}/models", client), model)
    except ConnectionFailed as error:
        failure = error
    version_info = None
    try:
        path = engine_of(owned_by=owner, address=server.v1).version_path
        version_info = await get_json(server, f"{server.root}{path}", client)
    except ConnectionFailed:
        if failure is not None:
            raise
    version = version_info.get("version") if isinstance(version_info, dict) else None
    # The built-in server and proxies may report a word; only a number is a version.
    return version if isinstance(version, str) and version[:1].isdecimal() else None, owner


def owner_in(models: object, model: str | None = None) -> str | None:
    """`owned_by` of a model in the server's list, or of the first model: the server or front end."""
    cards = models.get("data") if isinstance(models, dict) else None
    cards = [card for card in cards if isinstance(card, dict)] if isinstance(cards, list) else []
    card = next((card for card in cards if card.get("id") == model), cards[0] if cards else {})
    owner = card.get("owned_by")
    return owner if isinstance(owner, str) else None


def list_models(server: Server, endpoint: Endpoint | None = None) -> list[str]:
    """Names of the models that a server lists; raises ConnectionFailed with the fix.

    With an endpoint, models that the server does not serve there (`endpoints` of its card) are left out.
    """
    address = f"{server.v1}/models"
    try:
        with blocking_client(server, server.connect_s) as client:
            response = client.get(address)
    except httpx.HTTPError as error:
        raise RequestFailed(connection_failure(error, replace(server, silence_s=server.connect_s))) from error
    payload = loads(response.text) if response.status_code == 200 else None
    cards = payload.get("data") if isinstance(payload, dict) else None
    if not isinstance(cards, list):
        raise RequestFailed(refusal(response.status_code, response.text, server, path="/models"))
    cards = [card for card in cards if isinstance(card, dict) and isinstance(card.get("id"), str)]
    return [card["id"] for card in cards if endpoint is None or _serves(card, endpoint)]


def first_model(server: Server, endpoint: Endpoint) -> str:
    """The model that a request without a name asks for; raises ConnectionFailed if the server lists none."""
    models = list_models(server, endpoint)
    if not models:
        raise ConnectionFailed(f"{server.v1}/models lists no model; name one with --model")
    return models[0]


def unreachable(server: Server) -> str | None:
    """Why no API answers at an address, with the fix; None if one may, as it refuses or redirects."""
    with httpx.Client(timeout=server.connect_s, verify=trust(server.verify), trust_env=False) as client:
        try:
            response = client.get(f"{server.v1}/models", headers=server.request_headers())
        except httpx.HTTPError as error:
            return connection_failure(error, replace(server, silence_s=server.connect_s)).sentence
    if response.status_code != 200 or isinstance(loads(response.text), dict):
        return None
    return refusal(200, response.text, server, path="/models").sentence


def _serves(card: Mapping[str, Any], endpoint: Endpoint) -> bool:
    endpoints = card.get("endpoints")
    return not isinstance(endpoints, list) or spec_of(endpoint).full_path in endpoints


def timeouts(server: Server) -> httpx.Timeout:
    """Timeouts for the connection and for the next bytes."""
    return httpx.Timeout(server.silence_s, connect=server.connect_s)


def transport_to(server: Server) -> httpx.AsyncHTTPTransport:
    """A transport with the server's certificate settings; raises ConnectionFailed for a bad CA file."""
    return httpx.AsyncHTTPTransport(verify=trust(server.verify))


@cache  # loading the certificates takes longer than a local request
def trust(verify: bool | str) -> ssl.SSLContext:
    """The TLS context for `Server.verify`; raises ConnectionFailed for a file without certificates."""
    if isinstance(verify, bool):
        return httpx.create_ssl_context(verify=verify)
    try:
        return ssl.create_default_context(cafile=Path(verify).expanduser())
    except (OSError, ssl.SSLError) as error:
        raise ConnectionFailed(
            f"{verify} contains no readable CA certificates ({error}); use a PEM file"
        ) from error
