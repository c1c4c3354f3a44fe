"""The form of a probe: server, prompts, load; Start and Stop."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import streamlit as st

from inspector import Endpoint, InspectorError
from inspector.capture.formats import count
from inspector.fleet.probe import (
    PROMPT_FILE_MIB,
    Budget,
    Plan,
    ProbeLoad,
    ProbePrompt,
    Sweep,
    prompts_of_bytes,
    prompts_of_text,
)
from inspector.fleet.probe.planning import SWEEP_WARM_UP
from inspector.fleet.probe_registry import ProbeRun, probes
from inspector.matrix.requests import script_asks, script_controls
from inspector.matrix.scripts import load as lab_scripts
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest
from inspector.protocol.wire.endpoints import asked_endpoints
from pages.ui.errors import show_error
from pages.ui.pickers import plain
from pages.ui.servers import (
    ADDRESS_HELP,
    Reached,
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
_DEFAULTS: Final[Mapping[str, object]] = {
    "prompts": _PROMPTS,
    "endpoints": [Endpoint.CHAT],
    "load": _WORKERS,
    "concurrency": 4,
    "rate": 5.0,
    "requests": 40,
    "limit": 64,
    "smallest": 1.0,
    "verify": True,
}
"""Not defaults of the widgets, as the form may also hold the plan of a probe."""
_FAULTS: Final = "X-Playback-Faults"
_HELD: Final = "probe_form_of"
"""The probe whose plan the form holds."""
_BUILT_IN_MODEL: Final = "playback"
"""The model of the built-in server that replays all captures in turn."""


def form(session: Session, run: ProbeRun | None) -> None:
    """Draw the form; `run` is the probe that the page shows, whose plan the form then holds."""
    if run is not None and (st.session_state.get(_HELD) != run.id or "probe_address" not in st.session_state):
        _fill_from(run)
    for name, value in {"address": built_in_address(), **_DEFAULTS}.items():
        st.session_state.setdefault(f"probe_{name}", value)
    going = run is not None and not run.ended
    with st.container(horizontal=True, vertical_alignment="top", gap="small", key="probe_line"):
        # The browser keeps an expander as it is under its key.
        key = f"probe_form_{None if run is None else run.id}"
        line = "Request" if run is None else plan_line(run.plan)
        with st.expander(line, icon=":material/edit:", expanded=run is None, key=key):
            reach, model, endpoints, kind = _fields()
        if going and run is not None:
            if st.button("Stop", icon=":material/stop_circle:", key="probe_stop", width=95):
                run.stop()
            start = False
        else:
            start = st.button(
                "Start",
                icon=":material/play_arrow:",
                type="primary",
                key="probe_start",
                width=95,
                disabled=reach[0] is None or not model or not endpoints,
            )
    server, _, trouble, _ = reach
    awaiting(reach)
    if trouble and not model:
        st.error(plain(trouble), icon=":material/link_off:")
    if start and server is not None:
        try:
            session.probe = probes().start(_plan(server, str(model), endpoints, kind)).id
            st.session_state[_HELD] = session.probe
        except InspectorError as error:
            show_error(error)
        else:
            session.address({"probe": session.probe})
            st.rerun()


def plan_line(plan: Plan) -> str:
    """A plan in one line."""
    servers = " and ".join(f"{server.v1.partition('://')[2]} · {model}" for server, model in plan.servers)
    requests = "" if plan.budget.requests is None else count(plan.budget.requests, "request")
    words = [servers, ", ".join(plan.endpoints), load_words(plan), requests]
    return plain(" · ".join(filter(None, words)))


def load_words(plan: Plan) -> str:
    """How many requests are in flight."""
    if plan.sweep is not None:
        return f"sweep up to {plan.sweep.limit:,} streams at once"
    if plan.load.rate is not None:
        return f"{plan.load.rate:g} requests per second"
    return count(plan.load.concurrency, "worker")


def _fields() -> tuple[Reached, str | None, Sequence[Endpoint], str]:
    """Draw the fields: what a server answers, and the model, endpoints and load that are chosen."""
    address = st.session_state["probe_address"]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="probe_first_row"):
        st.text_input(
            "Server",
            key="probe_address",
            width=300,
            help=ADDRESS_HELP,
        )
        reach = reached(lambda: _server(address))
        model = _model(address, reach[1])
        endpoints = st.segmented_control(
            "Endpoints",
            asked_endpoints(),
            selection_mode="multi",
            key="probe_endpoints",
            help="Several are used in turn.",
        )
    st.text_area(
        "Prompts, one per line, used in turn",
        key="probe_prompts",
        height=68,
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="probe_second_row"):
        chosen = st.segmented_control(
            "Load",
            _LOADS,
            required=True,
            key="probe_load",
            help="Workers send one request after the other. A fixed rate does not wait for responses. A "
            "sweep raises the number of workers until responses are damaged.",
        )
        kind = chosen or _WORKERS
        _amounts(kind)
    with st.expander(
        "Second server, file of prompts, scripts of the lab, control, connection", key="probe_more"
    ):
        _more(own=is_built_in(address))
    return reach, model, endpoints, kind


def _fill_from(run: ProbeRun) -> None:
    """Fill the form with a plan, without what is never stored: keys and headers.

    A file of prompts is not filled in, as no page can put a file into a field.
    """
    plan, fields = run.plan, st.session_state
    server, model = plan.servers[0]
    kind = _SWEEP if plan.sweep is not None else _WORKERS if plan.load.rate is None else _RATE
    values: dict[str, object] = {
        "address": server.base_url,
        f"model_{server.base_url}": model,
        "endpoints": list(plan.endpoints),
        "load": kind,
        "second": plan.servers[1][0].base_url if len(plan.servers) > 1 else "",
        "scripts": list(dict.fromkeys(request.label for request in plan.scripted)),
        "control": round(100 * plan.control),
        "unstreamed": round(100 * plan.unstreamed),
        "max_tokens": None if plan.like is None else plan.like.max_tokens,
        "verify": server.verify is not False,
    }
    if is_built_in(server.base_url):
        values["faults"] = list(filter(None, server.headers.get(_FAULTS, "").split(",")))
    if plan.prompts and all(prompt.text for prompt in plan.prompts):
        values["prompts"] = "\n".join(prompt.text for prompt in plan.prompts)
    if plan.sweep is not None:
        values |= {"limit": plan.sweep.limit, "smallest": 100 * plan.sweep.smallest}
    else:
        seconds = plan.budget.seconds
        values |= {"requests": plan.budget.requests, "minutes": None if seconds is None else seconds / 60}
        values |= {"concurrency": plan.load.concurrency} if kind == _WORKERS else {"rate": plan.load.rate}
    for name, value in values.items():
        fields[f"probe_{name}"] = value
    fields[_HELD] = run.id


def _model(address: str, models: Sequence[str]) -> str | None:
    key = f"probe_model_{address}"
    if models and st.session_state.get(key) is None:
        st.session_state[key] = _BUILT_IN_MODEL if _BUILT_IN_MODEL in models else models[0]
    return st.selectbox(
        "Model",
        models,
        index=0 if models else None,  # with None, a button that clears it
        key=key,
        accept_new_options=True,
        placeholder="model name",
        width=260,
    )


def _amounts(kind: str) -> None:
    """The numbers of a load."""
    if kind == _SWEEP:
        st.number_input("Up to, streams at once", 1, 256, key="probe_limit", width=150)
        st.number_input(
            "Loss rate to rule out, %",
            0.1,
            20.0,
            key="probe_smallest",
            width=150,
            help="A load counts as free of loss when this rate is ruled out with 95% confidence.",
        )
        return
    if kind == _RATE:
        st.number_input("Requests per second", 0.1, 1000.0, key="probe_rate", width=150)
    else:
        st.number_input("Workers", 1, 256, key="probe_concurrency", width=120)
    st.number_input("Requests", 1, 100_000, key="probe_requests", width=120)
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
            max_upload_size=PROMPT_FILE_MIB,
            help="A .txt file has one prompt per line. A line of a .jsonl file is a text, messages, "
            "or a request with messages and tools. A .json file has one list of messages.",
        )
        st.multiselect(
            "Scripts of the lab, instead of the prompts",
            [script.name for script in lab_scripts()],
            key="probe_scripts",
            help="Only servers of the lab (`lab serve`) know them.",
        )
        with st.container(horizontal=True):
            st.number_input(
                "Control on completions, %",
                0,
                100,
                key="probe_control",
                width=210,
                help="This share of requests goes to completions, which no parser reads; counted separately.",
            )
            st.number_input("Unstreamed, %", 0, 100, key="probe_unstreamed", width=130)
            st.number_input("Max tokens", 1, 131072, None, key="probe_max_tokens", width=130)
    with right:
        if own:
            faults("Faults of the built-in server", "probe_faults")
        else:
            st.text_input("API key (never stored)", key="probe_key", type="password")
            st.text_area("Headers, NAME: VALUE, one per line (never stored)", key="probe_headers", height=68)
            st.toggle("Verify TLS certificates", key="probe_verify")


def _server(address: str) -> Server:
    state = st.session_state
    settings = {name: state.get(f"probe_{name}") for name in ("key", "headers", "verify")}
    return server_of(address, settings, {_FAULTS: ",".join(state.get("probe_faults") or [])})


def _prompts() -> list[ProbePrompt]:
    file = st.session_state.get("probe_file")
    if file is None:
        return prompts_of_text(st.session_state["probe_prompts"])
    return prompts_of_bytes(file.getvalue(), file.name)


def _plan(server: Server, model: str, endpoints: Sequence[Endpoint], kind: str) -> Plan:
    """The plan of the form; raises InspectorError for invalid values."""
    state = st.session_state
    second = (state.get("probe_second") or "").strip()
    servers = [(server, model)] + ([(replace(server, base_url=second), model)] if second else [])
    scripts = state.get("probe_scripts") or []
    control = state["probe_control"] / 100
    minutes = state.get("probe_minutes")
    limit = state.get("probe_max_tokens")
    return Plan(
        servers=servers,
        endpoints=endpoints,
        prompts=() if scripts else _prompts(),
        scripted=script_asks(scripts, endpoints) if scripts else (),
        controls=script_controls(scripts) if scripts and control else {},
        like=LiveRequest(model=model, max_tokens=limit),
        control=control,
        unstreamed=state["probe_unstreamed"] / 100,
        warm_up=SWEEP_WARM_UP if kind == _SWEEP else 0,
        load=ProbeLoad(concurrency=256, rate=state["probe_rate"])
        if kind == _RATE
        else ProbeLoad(concurrency=1 if kind == _SWEEP else state["probe_concurrency"]),
        budget=Budget()
        if kind == _SWEEP
        else Budget(requests=state["probe_requests"], seconds=None if minutes is None else 60 * minutes),
        sweep=Sweep(limit=state["probe_limit"], smallest=state["probe_smallest"] / 100)
        if kind == _SWEEP
        else None,
    )
