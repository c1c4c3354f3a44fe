"""What the Matrix page shows; its address holds it all: the pickers, the filter, the selection."""

from collections.abc import Sequence, Set
from typing import Final, NamedTuple

import streamlit as st

from inspector import Endpoint
from inspector.matrix.headline import column_label, release_name
from inspector.matrix.receivers import Receivers
from inspector.matrix.results import UNSTREAMED, MatrixRun, Receiver, unique_runs
from inspector.matrix.scripts import ENDPOINTS, ScriptClass
from inspector.matrix.servers import SERVERS as LAB_SERVERS
from pages.ui.state import went_back

BOTH_FRONT_ENDS: Final = "both"

_FRONT_ENDS: Final = {
    "python": "vLLM, Python front end",
    "rust": "vLLM, Rust front end",
    BOTH_FRONT_ENDS: "vLLM, both front ends",
    **{name: server.label for name, server in LAB_SERVERS.items()},
}

_FIRST_STEP: Final = "3"
"""Shown first: the condition under which old releases lose text."""

_STEPS_HELP: Final = (
    "How many tokens the engine gives to the server's parser at once: several under load, with speculative "
    "decoding or with `--stream-interval`. *Ragged*: 1 to 8, changing from step to step."
)
_FRONT_ENDS_HELP: Final = (
    "What answers HTTP and parses Harmony. Beside its releases stands the newest of each other server. Newer "
    "releases of vLLM have two front ends; other servers were tested on chat."
)

_DELIVERED: Final = "delivered"
_RECEIVERS_HELP: Final = (
    "What the server delivered; what a gateway makes of that on the way to the client; or whether an "
    "official SDK can read it. The recorded responses were played to the real gateway, or to the SDK's own "
    "accumulator."
)


class MatrixFilter(NamedTuple):
    """Which runs are shown, on which endpoint."""

    endpoint: Endpoint
    step: str
    front_end: str
    """vLLM's `python`, `rust` or `both`, or another server."""
    received_by: str = ""
    """The gateway or client that received the responses; empty for what was delivered."""
    receiver: Receiver = Receiver.SERVER


def choose(runs: Sequence[MatrixRun], receivers: Receivers) -> MatrixFilter:
    """Draw the pickers."""
    endpoint = _pick("endpoint", "Endpoint", {endpoint.value: endpoint.value for endpoint in ENDPOINTS})
    steps = list(dict.fromkeys(run.step for run in sorted(runs, key=lambda run: run.stream_interval or 99)))
    words = {step: "not streamed" if step == UNSTREAMED else step for step in steps}
    step = _pick("interval", "Tokens per step", words, first=_FIRST_STEP, explanation=_STEPS_HELP)
    recorded = {run.front_end for run in runs}
    names = {
        name: title
        for name, title in _FRONT_ENDS.items()
        if name in recorded or (name == BOTH_FRONT_ENDS and recorded >= {"python", "rust"})
    }
    front_end = next(iter(names))
    if len(names) > 1:
        linked = st.query_params.get("front_end")
        front_end = st.selectbox(
            "Server",
            list(names),
            format_func=names.__getitem__,
            help=_FRONT_ENDS_HELP,
            key=_linked("front_end", linked if linked in names else front_end),
            width=185,
        )
        address(front_end=front_end)
    names = {_DELIVERED: "the server"}
    names |= {name: name for name in receivers.by_name}
    linked = st.query_params.get("client")
    chosen = st.selectbox(
        "Measured at",
        list(names),
        format_func=names.__getitem__,
        help=_RECEIVERS_HELP,
        key=_linked("client", linked if linked in names else _DELIVERED),
        width=200,
    )
    received_by = "" if chosen == _DELIVERED else chosen
    address(client=received_by)
    receiver = receivers.by_name[received_by].receiver if received_by else Receiver.SERVER
    return MatrixFilter(Endpoint(endpoint), step, front_end, received_by, receiver)


def choose_words() -> str:
    """Draw the filter of the scripts."""
    words = st.text_input(
        "Filter scripts",
        placeholder="tool, emoji",
        key=_linked("filter", st.query_params.get("filter", "")),
        width=130,
    )
    address(filter=words)
    return words


def choose_differing() -> bool:
    """Draw the choice of only those scripts in which releases differ."""
    differing = st.toggle("Differences only", key=_linked("differing", "differing" in st.query_params))
    address(differing="yes" if differing else "")
    return differing


def choose_pair(titles: Sequence[str], default: tuple[str, str]) -> tuple[str, str]:
    """Draw the pickers of two releases; the address names them unless they are the default."""
    pair = []
    for name, words, first in zip(("from", "to"), ("From", "To"), default, strict=True):
        linked = st.query_params.get(name)
        # The keys name the columns: another choice above has another default.
        key = _linked(f"{name} {default} {len(titles)}", linked if linked in titles else first)
        pair.append(str(st.selectbox(words, titles, key=key, width=130, label_visibility="collapsed")))
    before, after = pair
    shown = ("", "") if (before, after) == default else (before, after)
    address(**dict(zip(("from", "to"), shown, strict=True)))
    return before, after


def selection(titles: Sequence[str], scripts: Sequence[str]) -> tuple[str | None, str | None]:
    """The release and the script that the address names, as far as they are shown."""
    release, script = st.query_params.get("release"), st.query_params.get("script")
    return release if release in titles else None, script if script in scripts else None


def opened(classes: Sequence[ScriptClass], selected: ScriptClass | None) -> list[ScriptClass]:
    """The classes whose scripts are shown: those that the address names, and that of the selected script."""
    linked = st.query_params.get("class", "").split(",")
    return [name for name in classes if name.value in linked or name is selected]


def address(**values: str) -> None:
    """Set parameters of the address, at once, as Back goes through each change; an empty one is removed."""
    query = {**st.query_params.to_dict(), **values}
    query = {name: value for name, value in query.items() if value}
    if query != st.query_params.to_dict():
        st.query_params.from_dict(query)


def columns(runs: Sequence[MatrixRun], chosen: MatrixFilter) -> dict[str, MatrixRun]:
    """The chosen runs by the title of their column, newest first.

    A narrow page cuts off the last ones: the oldest releases, not those that people upgrade to.
    """
    matching = [
        run for run in runs if run.front_end in _front_ends(chosen) and _is_shown_at(run, chosen.step)
    ]
    other_server = chosen.front_end in LAB_SERVERS
    unique = unique_runs(matching, chosen.endpoint)
    return {run.version if other_server else column_label(run): run for run in reversed(unique)}


def beside(runs: Sequence[MatrixRun], chosen: MatrixFilter) -> dict[str, MatrixRun]:
    """The newest release of each other server on the endpoint, by the title of its column."""
    newest = {run.front_end: run for run in unique_runs(runs) if _is_shown_at(run, chosen.step)}
    others = (newest[name] for name in _FRONT_ENDS if name in newest and name not in _front_ends(chosen))
    return {
        release_name(run): run
        for run in others
        if any(endpoint is chosen.endpoint for endpoint, _ in run.scores)
    }


def server_words(chosen: MatrixFilter) -> str:
    """The name of the server whose releases are shown."""
    return _FRONT_ENDS[chosen.front_end]


def _front_ends(chosen: MatrixFilter) -> Set[str]:
    return {"python", "rust"} if chosen.front_end == BOTH_FRONT_ENDS else {chosen.front_end}


def _is_shown_at(run: MatrixRun, step: str) -> bool:
    """Whether a run has this step; one of a server with steps of one token only has each streamed step."""
    server = LAB_SERVERS.get(run.front_end)
    if server is None or server.steps_vary or step == UNSTREAMED:
        return run.step == step
    return run.step == "1"


def _pick(
    name: str, label: str, options: dict[str, str], *, first: str = "", explanation: str | None = None
) -> str:
    linked = st.query_params.get(name)
    names = list(options)
    default = first if first in options else names[0]
    key = _linked(name, linked if linked in options else default)
    chosen = st.segmented_control(
        label, names, required=True, format_func=options.__getitem__, help=explanation, key=key
    )
    address(**{name: str(chosen)})
    return str(chosen)


def _linked(name: str, value: object) -> str:
    """The key of a widget, which has this value when the page opens and after Back."""
    # Set here and not by the widgets' own binding, which prevents leaving the page by a button.
    key = f"matrix {name}"
    if key not in st.session_state or went_back():
        st.session_state[key] = value
    return key
