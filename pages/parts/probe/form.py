"""The form of a probe: server, prompts, load; Start and Stop."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import streamlit as st

from inspector import Endpoint, InspectorError, dashboard
from inspector.dashboard import Budget, Plan, ProbeLoad, ProbePrompt, ProbeRun, Server, Sweep
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
from pages.ui.state import Session

_PROMPTS: Final = "What is the weather in Paris? Think first, then call the tool."
_WORKERS, _RATE, _SWEEP = "Workers", "Fixed rate", "Sweep"
_LOADS: Final = (_WORKERS, _RATE, _SWEEP)
_BUILT_IN_MODEL: Final = "playback"
"""The model of the built-in server that replays all captures in turn."""


def form(session: Session, run: ProbeRun | None) -> None:
    """Draw the form; `run` is the running probe."""
    address = st.session_state.get("probe_address", built_in_address())
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="probe_first_row"):
        st.text_input(
            "Server",
            built_in_address(),
            key="probe_address",
            width=300,
            help=ADDRESS_HELP,
        )
        reach = reached(lambda: _server(address))
        server, models, trouble, _ = reach
        model = _model(address, models)
        endpoints = st.segmented_control(
            "Endpoints",
            dashboard.asked_endpoints(),
            default=[Endpoint.CHAT],
            selection_mode="multi",
            key="probe_endpoints",
            help="Several are used in turn.",
        )
    st.text_area(
        "Prompts, one per line, used in turn",
        _PROMPTS,
        key="probe_prompts",
        height=68,
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="probe_second_row"):
        kind = st.segmented_control(
            "Load",
            _LOADS,
            default=_WORKERS,
            required=True,
            key="probe_load",
            help="Workers send one request after the other. A fixed rate does not wait for responses. A "
            "sweep raises the number of workers until responses are damaged.",
        )
        _amounts(kind)
        stop = run is not None and st.button(
            "Stop", icon=":material/stop_circle:", key="probe_stop", width=95
        )
        start = run is None and st.button(
            "Start",
            icon=":material/play_arrow:",
            type="primary",
            key="probe_start",
            width=95,
            disabled=server is None or not model or not endpoints,
        )
    with st.expander(
        "Second server, file of prompts, scripts of the lab, control, connection", key="probe_more"
    ):
        _more(own=is_built_in(address))
    awaiting(reach)
    if stop and run is not None:
        run.stop()
    if trouble and not model:
        st.error(plain(trouble), icon=":material/link_off:")
    if start and server is not None:
        try:
            session.probe = dashboard.probes().start(_plan(server, str(model), endpoints, kind)).id
        except InspectorError as error:
            show_error(error)
        else:
            session.address({"probe": session.probe})
            st.rerun()


def invitation() -> None:
    """Explain what Start does, before the first probe."""
    st.info(
        "Press **Start**: the requests are sent, each response is checked as it ends, and the result appears "
        "here. The built-in server replays real captures, so you can try this without a server.",
        icon=":material/play_arrow:",
    )


def _model(address: str, models: Sequence[str]) -> str | None:
    first = models.index(_BUILT_IN_MODEL) if _BUILT_IN_MODEL in models else 0
    return st.selectbox(
        "Model",
        models,
        index=first if models else None,
        key=f"probe_model_{address}",
        accept_new_options=True,
        placeholder="model name",
        width=260,
    )


def _amounts(kind: str) -> None:
    """The numbers of a load."""
    if kind == _SWEEP:
        st.number_input("Up to, streams at once", 1, 256, 64, key="probe_limit", width=150)
        st.number_input(
            "Loss rate to rule out, %",
            0.1,
            20.0,
            1.0,
            key="probe_smallest",
            width=150,
            help="A load counts as free of loss when this rate is ruled out with 95% confidence.",
        )
        return
    if kind == _RATE:
        st.number_input("Requests per second", 0.1, 1000.0, 5.0, key="probe_rate", width=150)
    else:
        st.number_input("Workers", 1, 256, 4, key="probe_concurrency", width=120)
    st.number_input("Requests", 1, 100_000, 40, key="probe_requests", width=120)
    st.number_input(
        "Minutes at most", 0.1, 1440.0, None, key="probe_minutes", width=130, placeholder="no limit"
    )


def _more(*, own: bool) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        st.text_input(
            "Second server, to compare with",
            key="probe_second",
            placeholder="http://localhost:8001/v1",
            help="Each request is sent to both, and the page says if their loss rates differ significantly.",
        )
        st.file_uploader(
            "File of prompts, instead of the text above",
            ["txt", "jsonl", "json"],
            key="probe_file",
            max_upload_size=dashboard.PROMPT_FILE_MIB,
            help="A .txt file has one prompt per line. A line of a .jsonl file is a text, messages, "
            "or a request with messages and tools. A .json file has one list of messages.",
        )
        st.multiselect(
            "Scripts of the lab, instead of the prompts",
            [script.name for script in dashboard.lab_scripts()],
            key="probe_scripts",
            help="Only servers of the lab (`lab serve`) know them.",
        )
        with st.container(horizontal=True):
            st.number_input(
                "Control on completions, %",
                0,
                100,
                0,
                key="probe_control",
                width=210,
                help="This share of requests goes to completions, which no parser reads; counted separately.",
            )
            st.number_input("Unstreamed, %", 0, 100, 0, key="probe_unstreamed", width=130)
            st.number_input("Max tokens", 1, 131072, None, key="probe_max_tokens", width=130)
    with right:
        if own:
            faults("Faults of the built-in server", "probe_faults")
        else:
            st.text_input("API key (never stored)", key="probe_key", type="password")
            st.text_area("Headers, NAME: VALUE, one per line (never stored)", key="probe_headers", height=68)
            st.toggle("Verify TLS certificates", True, key="probe_verify")


def _server(address: str) -> Server:
    state = st.session_state
    kept = {name: state.get(f"probe_{name}") for name in ("key", "headers", "verify")}
    return server_of(address, kept, {"X-Playback-Faults": ",".join(state.get("probe_faults") or [])})


def _prompts() -> list[ProbePrompt]:
    file = st.session_state.get("probe_file")
    if file is None:
        return dashboard.prompts_of_text(st.session_state["probe_prompts"])
    return dashboard.prompts_of_bytes(file.getvalue(), file.name)


def _plan(server: Server, model: str, endpoints: Sequence[Endpoint], kind: str) -> Plan:
    """The plan of the form; raises InspectorError for invalid values."""
    kept = st.session_state
    second = (kept.get("probe_second") or "").strip()
    servers = [(server, model)] + ([(replace(server, base_url=second), model)] if second else [])
    scripts = kept.get("probe_scripts") or []
    control = kept["probe_control"] / 100
    minutes = kept.get("probe_minutes")
    limit = kept.get("probe_max_tokens")
    return Plan(
        servers=servers,
        endpoints=endpoints,
        prompts=() if scripts else _prompts(),
        scripted=dashboard.script_asks(scripts, endpoints) if scripts else (),
        controls=dashboard.script_controls(scripts) if scripts and control else {},
        like=dashboard.LiveRequest(model=model, max_tokens=limit),
        control=control,
        unstreamed=kept["probe_unstreamed"] / 100,
        warm_up=dashboard.SWEEP_WARM_UP if kind == _SWEEP else 0,
        load=ProbeLoad(concurrency=256, rate=kept["probe_rate"])
        if kind == _RATE
        else ProbeLoad(concurrency=1 if kind == _SWEEP else kept["probe_concurrency"]),
        budget=Budget()
        if kind == _SWEEP
        else Budget(requests=kept["probe_requests"], seconds=None if minutes is None else 60 * minutes),
        sweep=Sweep(limit=kept["probe_limit"], smallest=kept["probe_smallest"] / 100)
        if kind == _SWEEP
        else None,
    )
