"""The form of a request: server, model, endpoint, prompt and options; Start and Stop."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import streamlit as st

from inspector import Endpoint, InspectorError
from inspector.capture.formats import clip
from inspector.net.client.address import Server
from inspector.net.client.outcome import OutcomeKind
from inspector.net.client.request import LiveRequest, parse_messages, parse_tools
from inspector.net.runs.registry import registry
from inspector.net.runs.run import LiveRun
from inspector.protocol.wire.endpoints import asked_endpoints, spec_of
from pages.parts.live import form_state
from pages.parts.live.form_state import PACES, PROMPT
from pages.parts.live.runs import watch
from pages.ui import captures
from pages.ui.errors import show_error
from pages.ui.pickers import plain
from pages.ui.servers import ADDRESS_HELP, awaiting, faults, is_built_in, reached, server_of
from pages.ui.state import Session

TOOLS: Final = """[{"type": "function", "function": {
  "name": "get_weather", "description": "Weather of a city.",
  "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]"""


_PROMPT_SHOWN: Final = 60
EFFORTS: Final = ("low", "medium", "high")


def asking(session: Session, run: LiveRun | None, *, running: bool) -> Server | None:
    """Draw the form, folded to a line beside a run; the server, None if no request can be sent yet.

    `run` is the run that is watched, and `running` says that it has not ended.
    """
    form_state.restore(session)
    if run is None:
        return _form(session)
    rejected = not running and key_rejected(run)
    with st.container(horizontal=True, vertical_alignment="top", gap="small", key="live_line"):
        # The browser keeps an expander as it is under its key.
        key = f"live_request_{run.id}_{rejected}"
        with st.expander(request_line(run), icon=":material/edit:", expanded=rejected, key=key):
            if rejected:
                st.error(plain(run.outcome.failure), icon=":material/link_off:")
            server = _form(session, rejected=rejected)
        if (
            running
            and run.own
            and st.button("Stop", icon=":material/stop_circle:", key="live_stop", width=95)
        ):
            run.stop()
    return server


def key_rejected(run: LiveRun) -> bool:
    """True when a run lacks the right key: the form says so, and opens at the field for it."""
    return run.own and run.outcome.kind is OutcomeKind.KEY_REJECTED


def request_line(run: LiveRun) -> str:
    """The request of a run in one line; a run of another client says which."""
    header = run.header
    prompt = header.request.get("prompt") or header.request.get("input")
    messages = header.request.get("messages")
    if isinstance(messages, list) and messages and isinstance(messages[-1], dict):
        prompt = messages[-1].get("content")
    words = [f"POST /v1{spec_of(header.endpoint).path}", str(header.model or "model unknown")]
    if isinstance(prompt, str):
        words.append(f"“{clip(' '.join(prompt.split()), _PROMPT_SHOWN)}”")
    if not run.own:
        words.insert(0, str(header.source or "another client"))
    return plain(" · ".join(words))


def _form(session: Session, *, rejected: bool = False) -> Server | None:
    address = form_state.value(session, "live_address")
    own = is_built_in(address)
    endpoint = Endpoint(form_state.value(session, "live_endpoint"))
    reach = reached(lambda: _server(session, address), endpoint)
    server, models, trouble, outcome = reach
    rejected = rejected or outcome is OutcomeKind.KEY_REJECTED
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="live_first_row"):
        st.text_input(
            "Server",
            key="live_address",
            **form_state.initial(session, "live_address"),
            width=250,
            help=ADDRESS_HELP,
        )
        model = st.selectbox(
            "Model",
            models,
            key=_model_key(session, address, endpoint, models),
            on_change=_take_match,
            args=(address, endpoint, models),
            accept_new_options=True,
            placeholder="model name",
            width=310,
        )
        st.segmented_control(
            "Endpoint",
            asked_endpoints(),
            required=True,
            key="live_endpoint",
            **form_state.initial(session, "live_endpoint", "default"),
            help="completions is the ground truth: no parser runs on its output.",
        )
        if own:
            st.selectbox(
                "Pace",
                list(PACES),
                key="live_pace",
                **form_state.initial(session, "live_pace", "index", list(PACES)),
                width=125,
            )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="live_second_row"):
        st.text_input("Prompt", key="live_prompt", **form_state.initial(session, "live_prompt"))
        start = st.button(
            "Start",
            icon=":material/play_arrow:",
            type="primary",
            key="live_start",
            width=95,
            disabled=server is None or not model,
        )
    with st.expander("Messages, tools, sampling, connection", expanded=rejected, key=f"live_more_{rejected}"):
        _more(session, own=own, resumable=spec_of(endpoint).resumable)
    form_state.remember(session, model)
    awaiting(reach, endpoint)
    if trouble and not model:
        st.error(plain(trouble), icon=":material/link_off:")
    if start and server is not None:
        try:
            if own and captures.is_built_in(str(model)):
                # So that /version tells the version that the capture was recorded with.
                server = replace(server, headers={**server.headers, "X-Playback-Capture": str(model)})
            _start(session, server, _request(str(model), endpoint))
        except InspectorError as error:
            show_error(error)
        else:
            st.rerun()
    return server if model else None


def _model_key(session: Session, address: str, endpoint: Endpoint, models: list[str]) -> str:
    """Key of the model's widget: one per server and endpoint, as they list different models."""
    key = f"live_model_{address}_{endpoint}"
    kept = session.form.get("live_model")
    if session.form_asked or st.session_state.get(key) is None:
        st.session_state.pop(key, None)
        unlisted = not models and session.form.get("live_address") == address
        if isinstance(kept, str) and (kept in models or unlisted):
            st.session_state[key] = kept
    return key


def _take_match(address: str, endpoint: Endpoint, models: list[str]) -> None:
    """Typed words select a model that contains them; other text stays as typed."""
    key = f"live_model_{address}_{endpoint}"
    typed = st.session_state.get(key)
    if isinstance(typed, str):
        st.session_state[key] = matching(typed, models)


def matching(typed: str, models: Sequence[str]) -> str:
    """The first model that contains all typed words; the typed text if there is none."""
    words = typed.casefold().split()
    contains = (model for model in models if all(word in model.casefold() for word in words))
    return typed if typed in models else next(contains, typed)


def _more(session: Session, *, own: bool, resumable: bool) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        st.text_area(
            "Messages, JSON (instead of the prompt)",
            key="live_messages",
            **form_state.initial(session, "live_messages"),
            height=90,
        )
        st.text_area(
            "Tools, JSON",
            key="live_tools",
            **form_state.initial(session, "live_tools"),
            height=90,
            placeholder=TOOLS,
        )
        st.text_input(
            "Tool choice",
            key="live_tool_choice",
            **form_state.initial(session, "live_tool_choice"),
            placeholder="auto, none, required",
        )
    with right:
        with st.container(horizontal=True):
            st.selectbox(
                "Reasoning effort",
                EFFORTS,
                key="live_effort",
                **form_state.initial(session, "live_effort", "index", EFFORTS),
                width=150,
            )
            st.number_input(
                "Max tokens",
                1,
                131072,
                key="live_max_tokens",
                **form_state.initial(session, "live_max_tokens"),
                width=130,
            )
            st.number_input(
                "Temperature",
                0.0,
                2.0,
                key="live_temperature",
                **form_state.initial(session, "live_temperature"),
                width=130,
            )
            st.number_input(
                "Top p", 0.0, 1.0, key="live_top_p", **form_state.initial(session, "live_top_p"), width=110
            )
            st.number_input("Seed", 0, key="live_seed", **form_state.initial(session, "live_seed"), width=110)
        with st.container(horizontal=True):
            st.toggle(
                "Request token IDs",
                key="live_ids",
                **form_state.initial(session, "live_ids"),
                help="Sends return_token_ids, which makes losses visible.",
            )
            st.toggle(
                "Logprobs",
                key="live_logprobs",
                **form_state.initial(session, "live_logprobs"),
                help="Weaker evidence, for servers that send no token IDs.",
            )
            st.toggle(
                "Also record ground truth",
                key="live_both",
                **form_state.initial(session, "live_both"),
                help="Sends the same prompt to completions too.",
            )
            if resumable:
                st.toggle(
                    "Background",
                    key="live_background",
                    **form_state.initial(session, "live_background"),
                    help="The server continues if the connection breaks, and the stream is resumed.",
                )
        if not own:
            st.text_input(
                "API key (never stored)",
                key="live_key",
                **form_state.initial(session, "live_key"),
                type="password",
            )
            st.text_area(
                "Headers, NAME: VALUE, one per line (never stored)",
                key="live_headers",
                **form_state.initial(session, "live_headers"),
                height=68,
            )
            with st.container(horizontal=True):
                st.toggle(
                    "Verify TLS certificates", key="live_verify", **form_state.initial(session, "live_verify")
                )
                st.number_input(
                    "Timeout without data, seconds",
                    1,
                    3600,
                    key="live_silence",
                    **form_state.initial(session, "live_silence"),
                    width=190,
                )
    if own:
        faults(
            "Faults of the built-in server",
            "live_faults",
            **form_state.initial(session, "live_faults", "default"),
        )


def _server(session: Session, address: str) -> Server:
    kept = {
        name: form_state.value(session, f"live_{name}") for name in ("key", "headers", "verify", "silence")
    }
    playback = {
        "X-Playback-Tokens-Per-S": PACES[form_state.value(session, "live_pace")],
        "X-Playback-Faults": ",".join(form_state.value(session, "live_faults")),
    }
    return server_of(address, kept, playback)


def _request(model: str, endpoint: Endpoint) -> LiveRequest:
    """The request of the form; raises InspectorError for invalid JSON."""
    state = st.session_state
    messages, tools = (state.get("live_messages") or "").strip(), (state.get("live_tools") or "").strip()
    return LiveRequest(
        model=model,
        endpoint=endpoint,
        prompt=state.get("live_prompt", PROMPT),
        messages=parse_messages(messages) if messages else (),
        tools=parse_tools(tools) if tools else (),
        tool_choice=state.get("live_tool_choice") or None,
        reasoning_effort=state.get("live_effort"),
        max_tokens=state.get("live_max_tokens"),
        temperature=state.get("live_temperature"),
        top_p=state.get("live_top_p"),
        seed=state.get("live_seed"),
        logprobs=bool(state.get("live_logprobs")),
        token_ids=state.get("live_ids", True),
        background=spec_of(endpoint).resumable and bool(state.get("live_background")),
    )


def _start(session: Session, server: Server, request: LiveRequest) -> None:
    runs = registry()
    both = st.session_state.get("live_both") and not spec_of(request.endpoint).raw
    run = runs.start_both(server, request, shown=True)[0] if both else runs.start(server, request, shown=True)
    form_state.keep_for(session, run.id)
    watch(session, run.id)
