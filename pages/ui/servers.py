"""The server of a form: its address, models and connection, and the faults of the built-in one."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import streamlit as st

from inspector import Endpoint, InspectorError
from inspector.net.client.address import Server, SettingHints
from inspector.net.client.outcome import OutcomeKind, RequestFailed
from inspector.net.playback import FAULTS
from inspector.net.runs.model_lists import ModelLists
from pages.ui.errors import sentence_of
from pages.ui.pickers import plain

ADDRESS_HELP: Final = "An OpenAI-compatible address. The default is the built-in server with real captures."
_FIELDS: Final = SettingHints(
    key="enter the server's key in the field “API key” of the connection settings",
    silence="try it on Live with a longer “Timeout without data” in the connection settings",
    certificates="switch off “Verify TLS certificates” in the connection settings",
)
_WAITS_S: Final = 1.0
"""Time that a page waits for a list of models before it is drawn without one."""
_EACH_S: Final = 0.5


class Reached(NamedTuple):
    """The server of a form and its models."""

    server: Server | None
    models: list[str]
    trouble: str
    """Why the server or its models are not known."""
    outcome: OutcomeKind | None = OutcomeKind.OK
    """How the request for the models went, if one was sent; None while the server has not answered."""


def built_in_address() -> str:
    """The playback server on the dashboard's own port."""
    return f"http://127.0.0.1:{st.get_option('server.port')}/playback/v1"


def is_built_in(address: str) -> bool:
    """True for the address of the built-in server."""
    return address.strip() == built_in_address()


def server_of(address: str, kept: Mapping[str, Any], playback: Mapping[str, str]) -> Server:
    """The server of a form; raises InspectorError for an invalid address or header.

    `kept` holds what the form says of the connection: `key`, `headers`, `verify`, `silence`. The built-in
    server needs none of it, and gets the headers `playback` instead, without empty ones.
    """
    if is_built_in(address):
        sent = {name: value for name, value in playback.items() if value}
        return Server(base_url=address, headers=sent, settings=_FIELDS)
    return Server(
        base_url=address,
        settings=_FIELDS,
        api_key=kept.get("key") or "",
        headers=_headers(kept.get("headers") or ""),
        verify=kept.get("verify") is not False,
        silence_s=float(kept.get("silence") or 300),
    )


def faults(label: str, key: str, **options: Any) -> None:
    """Choose the faults of the built-in server."""
    st.multiselect(
        label,
        list(FAULTS),
        key=key,
        accept_new_options=True,
        format_func=_fault_words,
        placeholder="none: captures are replayed as recorded",
        help="Some faults take a value, e.g. merge=3 or stall=8:60 (60 s before event 8).",
        **options,
    )


def _fault_words(name: str) -> str:
    fault = FAULTS.get(name)
    return name if fault is None else f"{name}: {fault.words}"


def reached(server_from_fields: Callable[[], Server], endpoint: Endpoint | None = None) -> Reached:
    """The server of a form and its models, and why one of the two is unknown.

    A server may have no list of models: then the name of one is typed.
    """
    try:
        server = server_from_fields()
    except InspectorError as error:
        return Reached(None, [], sentence_of(error))
    try:
        models = _lists().of(server, endpoint, wait_s=_WAITS_S)
    except InspectorError as error:
        trouble = f"{sentence_of(error)}. To send the request anyway, enter a model name"
        kind = error.problem.kind if isinstance(error, RequestFailed) else OutcomeKind.NOT_REACHED
        return Reached(server, [], trouble, kind)
    return Reached(server, models or [], "", None if models is None else OutcomeKind.OK)


def awaiting(reached_server: Reached, endpoint: Endpoint | None = None) -> None:
    """Say that a server has not answered yet, and draw the page again when it has."""
    if reached_server.outcome is None and reached_server.server is not None:
        st.fragment(_awaited, run_every=_EACH_S)(reached_server.server, endpoint)


def _awaited(server: Server, endpoint: Endpoint | None) -> None:
    try:
        models = _lists().of(server, endpoint)
    except InspectorError:
        st.rerun()
    if models is not None:
        st.rerun()
    st.caption(plain(f"Waiting for the model list of {server.root}. You can enter a model name."))


@st.cache_resource(show_spinner=False)
def _lists() -> ModelLists:
    return ModelLists()


def _headers(text: str) -> dict[str, str]:
    """Parse headers, one per line; raises InspectorError for a line without a colon."""
    headers = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip()] = value.strip()
        elif line.strip():
            raise InspectorError("a header line has no colon; use the form X-Team: search")
    return headers
