"""The doctor on a page: checks a server's configuration and says what to change."""

import streamlit as st

from inspector import InspectorError
from inspector.fleet.doctor import CheckState, check_server
from inspector.matrix.checkup import CheckupRow, checkup_rows, fault_rows
from inspector.net.client.address import Server
from pages.ui import state
from pages.ui.errors import show_error
from pages.ui.pickers import plain

_SIGNS = {
    CheckState.OK: ":green[:material/check_circle:] ok",
    CheckState.WARNING: ":orange[:material/warning:] warning",
    CheckState.FAILED: ":red[:material/error:] failed",
    CheckState.UNKNOWN: ":gray[:material/help:] unknown",
}
_NOTE = ":gray[:material/info:] note"


def checkup(server: Server | None) -> None:
    """A panel that checks the server on request."""
    with st.expander("Check this server", icon=":material/stethoscope:", key="live_doctor"):
        st.caption("Sends a few short requests and tells you which flag or file to change.")
        if not st.button("Check", key="live_check", disabled=server is None) or server is None:
            return
        try:
            with st.spinner("Checking the server"):
                report = check_server(server, model=_model(server))
        except InspectorError as error:
            show_error(error)
            return
        st.markdown(f"**{plain(report.sentence)}**")
        for row in checkup_rows(report):
            _show(row)
        if report.faults:
            with st.popover("Show the known faults"):
                for row in fault_rows(report):
                    _show(row)


def _show(row: CheckupRow) -> None:
    sign = _NOTE if row.state is None else _SIGNS[row.state]
    change = f"  \nChange: {plain(row.change)}" if row.change else ""
    st.markdown(f"{sign} **{plain(row.name)}**: {plain(row.says)}{change}")


def _model(server: Server) -> str | None:
    del server
    chosen = state.current().form.get("live_model")
    return chosen if isinstance(chosen, str) else None
