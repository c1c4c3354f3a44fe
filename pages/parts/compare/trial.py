"""One prompt sent to two servers: the form, the progress, and the pair to compare."""

from typing import Final

import pandas as pd
import streamlit as st

import inspector
from inspector import Endpoint, Inspection, InspectorError
from inspector.inspection.compare import significance
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest, parse_messages, parse_tools
from inspector.net.runs.registry import registry
from inspector.net.runs.run import LiveRun
from inspector.net.runs.trial import RUNS_AT_MOST, Trial, has_output
from inspector.protocol.wire.endpoints import asked_endpoints
from inspector.views.comparison_rows import run_rows
from pages.parts.compare import repeats, strips
from pages.parts.live.form_state import PROMPT
from pages.parts.live.request_form import TOOLS
from pages.ui import captures
from pages.ui.captures import Chosen
from pages.ui.errors import show_error
from pages.ui.pickers import plain
from pages.ui.servers import (
    ADDRESS_HELP,
    awaiting,
    built_in_address,
    faults,
    is_built_in,
    reached,
    server_of,
)
from pages.ui.state import Session, went_back
from pages.ui.tables import table_height

_SIDES: Final = ("left", "right")
_FIRST: Final = dict(
    zip(_SIDES, ("chat-tool-call-dropped-vllm-0.13.0", "chat-tool-call-leak-vllm-0.14.1"), strict=True)
)
"""The first models of the built-in server: one script on two versions."""
_EACH_S: Final = 0.5


def asking(session: Session) -> tuple[Chosen | None, Chosen | None]:
    """Draw the form and the last trial; the pair to compare, once there is one."""
    trial = _trial_of(session)
    if trial is None:
        _form(session, None)
        st.info(
            "Press **Ask both** to send the prompt to both servers and compare the responses. "
            "The built-in server replays real captures, so you can try this without a server.",
            icon=":material/play_arrow:",
        )
        return None, None
    asked = " and ".join(plain(run.header.model or "a server") for run in (trial.left[0], trial.right[0]))
    with st.expander(f"Asked {asked} · edit, ask again"):
        _form(session, trial)
    if not trial.ended:
        with st.container(horizontal=True, vertical_alignment="bottom", key="ask_line"):
            st.fragment(_progress, run_every=_EACH_S)(trial)
            if st.button("Stop", icon=":material/stop_circle:", key="ask_stop", width=95):
                trial.stop()
        for side, run in zip(_SIDES, (trial.left[0], trial.right[0]), strict=True):
            strips.growing(session, run, side)
        return None, None
    return _pair(session, trial)


def _trial_of(session: Session) -> Trial | None:
    linked = st.query_params.get("trial")
    name = linked if linked and went_back() else session.trial or linked
    trial = registry().trial(name) if name else None
    if trial is None and name:
        st.warning(
            "These runs are no longer in memory. Open their capture files.",
            icon=":material/link_off:",
        )
    session.trial = None if trial is None else trial.id
    return trial


def _form(session: Session, trial: Trial | None) -> None:
    """Draw the form, with the servers of the last trial where the page was loaded again."""
    going = trial is not None and not trial.ended
    requests: list[tuple[Server, str] | None] = []
    before = (None, None) if trial is None else (trial.left[0], trial.right[0])
    for column, side, run in zip(st.columns(2, gap="medium"), _SIDES, before, strict=True):
        with column:
            requests.append(_side(side, run))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.segmented_control(
            "Endpoint",
            asked_endpoints(),
            default=Endpoint.CHAT if trial is None else trial.left[0].header.endpoint,
            required=True,
            key="ask_endpoint",
        )
        st.number_input(
            "Runs per server",
            1,
            RUNS_AT_MOST,
            1,
            key="ask_runs",
            width=120,
            help="With several runs, the page shows how many fail and if the difference is significant.",
        )
        start = st.button(
            "Ask both",
            icon=":material/play_arrow:",
            type="primary",
            key="ask_start",
            width=120,
            disabled=going or None in requests,
        )
    st.text_input("Prompt", PROMPT, key="ask_prompt")
    with st.expander("Messages, tools, sampling, faults, keys", key="ask_more"):
        _more()
    left, right = requests
    if start and left is not None and right is not None:
        try:
            sides = [(server, _request(model)) for server, model in (left, right)]
            session.trial = registry().start_trial(*sides, runs=st.session_state["ask_runs"]).id
        except InspectorError as error:
            show_error(error)
        else:
            session.address({"trial": session.trial})
            st.rerun()


def _side(side: str, run: LiveRun | None) -> tuple[Server, str] | None:
    """Draw the fields of one side, first those of a run; its server and model, None for no request."""
    address = st.text_input(
        f"{side.capitalize()} server",
        built_in_address() if run is None else run.address,
        key=f"ask_{side}_address",
        help=ADDRESS_HELP,
    )
    asked = Endpoint.CHAT if run is None else run.header.endpoint
    endpoint = Endpoint(st.session_state.get("ask_endpoint") or asked)
    reached_server = reached(lambda: _server(side, address), endpoint)
    server, models, trouble, _ = reached_server
    first = _FIRST[side] if run is None else run.header.model
    model = st.selectbox(
        f"{side.capitalize()} model",
        models,
        index=models.index(first) if first in models else 0 if models else None,
        key=f"ask_{side}_model_{address}_{endpoint}",
        accept_new_options=True,
        placeholder="model name",
    )
    awaiting(reached_server, endpoint)
    if trouble and not model:
        st.error(plain(trouble), icon=":material/link_off:")
    if server is None or not model:
        return None
    return _server(side, address, model=str(model)), str(model)


def _server(side: str, address: str, *, model: str = "") -> Server:
    state = st.session_state
    settings = {name: state.get(f"ask_{side}_{name}") for name in ("key", "headers", "verify")}
    playback = {
        "X-Playback-Faults": ",".join(state.get(f"ask_{side}_faults", [])),
        # So that /version tells the version that the capture was recorded with.
        "X-Playback-Capture": model if captures.is_built_in(model) else "",
    }
    return server_of(address, settings, playback)


def _more() -> None:
    for column, side in zip(st.columns(2, gap="medium"), _SIDES, strict=True):
        with column:
            _way(side)
    left, right = st.columns(2, gap="medium")
    with left:
        st.text_area("Messages, JSON (instead of the prompt)", key="ask_messages", height=90)
        st.text_area("Tools, JSON", key="ask_tools", height=90, placeholder=TOOLS)
    with right, st.container(horizontal=True):
        st.number_input("Temperature", 0.0, 2.0, 0.0, key="ask_temperature", width=130)
        st.number_input("Seed", 0, None, 0, key="ask_seed", width=110)
        st.number_input("Max tokens", 1, 131072, None, key="ask_max_tokens", width=130)
        st.selectbox("Reasoning effort", ["low", "medium", "high"], index=None, key="ask_effort", width=150)


def _way(side: str) -> None:
    """Draw the connection of one side, or the faults of the built-in server."""
    if is_built_in(st.session_state[f"ask_{side}_address"]):
        faults(f"Faults of the {side} built-in server", f"ask_{side}_faults")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(f"API key for the {side} server (never stored)", key=f"ask_{side}_key", type="password")
        st.toggle("Verify TLS certificates", True, key=f"ask_{side}_verify")
    st.text_area(
        f"Headers for the {side} server, NAME: VALUE, one per line (never stored)",
        key=f"ask_{side}_headers",
        height=68,
    )


def _request(model: str) -> LiveRequest:
    """The request of the form; raises InspectorError for JSON that cannot be read."""
    state = st.session_state
    messages, tools = (state.get(f"ask_{name}") or "" for name in ("messages", "tools"))
    return LiveRequest(
        model=model,
        endpoint=Endpoint(state["ask_endpoint"]),
        prompt=state["ask_prompt"],
        messages=parse_messages(messages) if messages.strip() else (),
        tools=parse_tools(tools) if tools.strip() else (),
        reasoning_effort=state.get("ask_effort"),
        max_tokens=state.get("ask_max_tokens"),
        temperature=state.get("ask_temperature"),
        seed=state.get("ask_seed"),
    )


def _progress(trial: Trial) -> None:
    """Draw the progress of both sides; at the end, run the whole page once."""
    if trial.ended:
        st.rerun()
    ended_runs, progress = 0, []
    for side, runs in zip(_SIDES, (trial.left, trial.right), strict=True):
        ended = sum(run.ended.is_set() for run in runs)
        ended_runs += ended
        tokens = sum(run.pace().tokens for run in runs)
        progress.append(f"{side}: {ended} of {len(runs)} finished, {tokens:,} tokens")
    st.progress(ended_runs / len(trial.runs), "; ".join(progress))


def _pair(session: Session, trial: Trial) -> tuple[Chosen | None, Chosen | None]:
    """The pair to compare; if only one side responded, its response is drawn here."""
    for trouble in trial.troubles():
        st.error(plain(trouble), icon=":material/link_off:")
    pair = _chosen_pair(trial) if len(trial.left) > 1 else (trial.left[0], trial.right[0])
    runs = {side: run for side, run in zip(_SIDES, pair, strict=True) if run is not None}
    sides = {side: captures.of_run(run) for side, run in runs.items() if has_output(run)}
    address = {"trial": trial.id, **{side: capture.name for side, capture in sides.items()}}
    session.address(address)
    if len(sides) == 1:
        ((side, capture),) = sides.items()
        st.markdown(f"Only the **{side}** server responded, so there is nothing to compare. Its response:")
        strips.side_strip(session, capture, side)
    return sides.get("left"), sides.get("right")


def _chosen_pair(trial: Trial) -> tuple[LiveRun | None, LiveRun | None]:
    """Rates and one row per run; the pair to show is that of the selected row, at first one that differs."""
    left, right = _inspected(trial.id, trial)
    repeats.rates(significance(left, right), key="ask_rates")
    rows = run_rows(left, right)
    chosen = st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        width="stretch",
        height=table_height(len(rows), 320),
        on_select="rerun",
        selection_mode="single-row",
        column_config=repeats.RUNS,
        key=f"ask_runs_{trial.id}",
        alt="Runs of both sides with their verdicts",
    )["selection"]["rows"]
    number = next((n for n, pair in enumerate(zip(left, right, strict=False)) if _differ(*pair)), 0)
    if chosen and chosen[0] < len(rows):
        number = rows[chosen[0]]["run"] - 1
    st.caption(f"Below: run {number + 1} of each side. Select a row to see another pair.")
    pair = [runs[min(number, len(runs) - 1)] if runs else None for runs in trial.counted]
    return pair[0], pair[1]


def _differ(left: Inspection, right: Inspection) -> bool:
    return left.worst is not right.worst


@st.cache_resource(max_entries=4, show_spinner="Reading the responses")
def _inspected(name: str, _trial: Trial) -> tuple[list[Inspection], list[Inspection]]:
    del name
    left, right = (
        [inspector.inspect(run.capture(), name=f"{run.id}.jsonl") for run in runs] for runs in _trial.counted
    )
    return left, right
