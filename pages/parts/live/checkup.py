"""The doctor on a page: checks a server's configuration and says what to change."""

import streamlit as st

from inspector import InspectorError, dashboard
from inspector.dashboard import CheckState, Server
from pages.ui.pickers import plain

__all__ = ["checkup"]

_SIGNS = {
    CheckState.OK: ":green[:material/check_circle:] ok",
    CheckState.WARNING: ":orange[:material/warning:] warning",
    CheckState.FAILED: ":red[:material/error:] failed",
    CheckState.UNKNOWN: ":gray[:material/help:] unknown",
}


def checkup(server: Server | None) -> None:
    """A panel that checks the server on request."""
    with st.expander("Check this server", icon=":material/stethoscope:", key="live_doctor"):
        st.caption("Sends three short requests and tells you which flag or file to change.")
        if not st.button("Check", key="live_check", disabled=server is None) or server is None:
            return
        try:
            with st.spinner("Checking the server"):
                found = dashboard.check_server(server, model=_model(server))
        except InspectorError as error:
            st.error(plain(str(error)))
            return
        st.markdown(f"**{plain(found.sentence)}**")
        for one in found.checks:
            change = f"  \nChange: {plain(one.change)}" if one.change else ""
            st.markdown(f"{_SIGNS[one.state]} **{plain(one.name)}**: {plain(one.says)}{change}")
        for row in dashboard.release_rows(found.version):
            st.markdown(f":gray[:material/grid_on:] **lab**: {plain(dashboard.release_words(row))}")


def _model(server: Server) -> str | None:
    del server
    address = st.session_state.get("live_address")
    chosen = st.session_state.get(f"live_model_{address}")
    return chosen if isinstance(chosen, str) else None
