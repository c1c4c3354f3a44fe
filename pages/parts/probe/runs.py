"""The probe that the page shows, and the earlier ones of this process."""

from typing import Final

import streamlit as st

from inspector.fleet.probe_registry import ProbeRun, probes
from pages.parts.probe.form import load_words
from pages.ui.captures import clock
from pages.ui.rows import rows
from pages.ui.state import Session, went_back

_MOST_PX: Final = 300


def watched(session: Session) -> ProbeRun | None:
    """The probe that the page shows, if it is still in memory; without a choice the last one."""
    linked = st.query_params.get("probe")
    name = linked if went_back() else session.probe or linked
    run = probes().get(name) if name else next(iter(probes().runs()), None)
    if run is None and name:
        st.warning(
            "This probe is no longer in memory. Its rows and captures are in the folder of live captures.",
            icon=":material/link_off:",
        )
    session.probe = None if run is None else run.id
    if run is not None:
        session.address({"probe": run.id})
    return run


def earlier(session: Session, run: ProbeRun | None) -> None:
    """The other probes; a click opens one."""
    other_probes = [probe_run for probe_run in probes().runs() if probe_run is not run]
    if not other_probes:
        return
    st.header("Other probes", anchor=False)
    opened = rows(
        list(map(_cells, other_probes)),
        label="Other probes",
        opens="server",
        key="probe_earlier",
        height=_MOST_PX,
    )
    if opened is not None:
        session.probe = other_probes[opened].id
        session.address({"probe": session.probe})
        st.rerun()


def _cells(run: ProbeRun) -> dict[str, str | int | None]:
    progress = None if run.probe is None else run.probe.progress()
    return {
        "started": clock(run.started_at.isoformat()),
        "server": "; ".join(f"{server.root} ({model})" for server, model in run.plan.servers),
        "load": load_words(run.plan),
        "requests": 0 if progress is None else progress.done,
        "damaged": 0 if progress is None else progress.damaged,
        "failed": 0 if progress is None else progress.failed,
        "state": run.trouble or ("ended" if run.ended else "running"),
    }
