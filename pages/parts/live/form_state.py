"""State of the Live form: the session keeps it over a page change, an ID in the URL over a reload.

The API key and the headers stay in the session. The rest is also kept in this process, by the id of the form
and by that of each run that it started, so that a linked run shows the request that it was made with.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

import streamlit as st

from inspector import Endpoint
from pages.ui.servers import built_in_address
from pages.ui.state import Session

PROMPT: Final = "What is the weather in Paris? Think first, then call the tool."
PACES: Final = {
    "10 tokens/s": "10",
    "50 tokens/s": "50",
    "200 tokens/s": "200",
    "2,000 tokens/s": "2000",
    "as recorded": "",
}
_SECRETS: Final = {"live_key": "", "live_headers": ""}
_FORMS_AT_MOST: Final = 200


def _defaults() -> dict[str, Any]:
    return {
        "live_address": built_in_address(),
        "live_endpoint": Endpoint.CHAT,
        "live_model": None,
        "live_pace": next(iter(PACES)),
        "live_prompt": PROMPT,
        "live_messages": "",
        "live_tools": "",
        "live_tool_choice": "",
        "live_effort": None,
        "live_max_tokens": None,
        "live_temperature": None,
        "live_top_p": None,
        "live_seed": None,
        "live_ids": True,
        "live_logprobs": False,
        "live_both": False,
        "live_background": False,
        "live_verify": True,
        "live_silence": 300,
        "live_faults": [],
    }


def restore(session: Session) -> None:
    """Restore the form's state; drawn widgets get the values of another request, if one is to be shown."""
    if not session.form:
        name = st.query_params.get("form")
        fields = _forms().get(name or "") or _forms().get(st.query_params.get("run", "")) or {}
        session.form = dict(fields)
        session.form_id = name if fields else None
    if session.form_asked:
        for key, default in {**_defaults(), **_SECRETS}.items():
            st.session_state[key] = session.form.get(key, default)


def value(session: Session, key: str) -> Any:
    """The value of a widget, also before it is drawn."""
    first = {**_defaults(), **_SECRETS}[key]
    return st.session_state.get(key, session.form.get(key, first))


def initial(session: Session, key: str, name: str = "value", options: Sequence[object] | None = None) -> Any:
    """Keyword argument with a widget's initial value: `name` with the value, or its index in `options`.

    A value that is written to the session state reaches the browser only after the widget: a button that
    is pressed in between would send the widget empty. So that is done for other requests only.
    """
    if session.form_asked:
        return {} if name == "default" else {name: None}
    content = value(session, key)
    if options is None:
        return {name: content}
    return {name: options.index(content) if content in options else None}


def remember(session: Session, model: str | None) -> None:
    """Keep the values of the widgets; the URL names them once they differ from the defaults."""
    session.form_asked = False
    kept = {key: st.session_state.get(key, default) for key, default in _defaults().items()}
    kept["live_model"] = model
    session.form = {**kept, **{key: st.session_state.get(key, "") for key in _SECRETS}}
    first = {**_defaults(), "live_model": kept["live_model"]}
    if kept == first and session.form_id is None:
        return
    if session.form_id is None:
        session.form_id = secrets.token_hex(4)
    _put(session.form_id, kept)
    if st.query_params.get("form") != session.form_id:
        st.query_params["form"] = session.form_id


def keep_for(session: Session, run: str) -> None:
    """Keep the current values as those of a run."""
    _put(run, {key: value for key, value in session.form.items() if key not in _SECRETS})


def show_of(session: Session, run: str) -> None:
    """Show the request of a run in the form, if it was made by one."""
    fields = _forms().get(run)
    if fields is not None:
        session.form = {**session.form, **fields}
        session.form_asked = True


def _put(name: str, kept: Mapping[str, Any]) -> None:
    forms = _forms()
    forms.pop(name, None)
    forms[name] = dict(kept)
    while len(forms) > _FORMS_AT_MOST:
        del forms[next(iter(forms))]


@st.cache_resource(show_spinner=False)
def _forms() -> dict[str, dict[str, Any]]:
    return {}
