"""Which run is watched, and the runs before it; each opens in Replay."""

import streamlit as st

import inspector
from inspector import LiveRun, RunState
from pages.ui.pickers import plain
from pages.ui.state import Opened, Session

__all__ = ["open_in_replay", "recent", "watch", "watched"]

_SHOWN = 12
_SIGNS = {RunState.WAITING: ":material/hourglass_top:", RunState.STREAMING: ":material/podcasts:"}


def watch(session: Session, run: str) -> None:
    """Watch a run; the address bar names it, so that a reload goes on with it."""
    session.run = run
    st.query_params.from_dict({"run": run})


def watched(session: Session) -> LiveRun | None:
    """The run that is watched, if it is still known."""
    name = session.run or st.query_params.get("run")
    run = inspector.registry().get(name) if name else None
    if run is None:
        return None
    if session.run != run.id or st.query_params.get("run") != run.id:
        watch(session, run.id)
    return run


def open_in_replay(session: Session, run: LiveRun) -> None:
    """Open what came of a run on the Replay page."""
    name = run.path.name if run.path else f"{run.id}.jsonl"
    session.open([Opened(name=name, digest=f"{run.id} {len(run.events)}", capture=run.capture())])
    st.switch_page("replay.py")


def recent(session: Session, shown: LiveRun | None) -> None:
    """The runs of this process, the newest first."""
    runs = [run for run in inspector.registry().runs() if shown is None or run.id != shown.id][:_SHOWN]
    if not runs:
        return
    st.subheader("Recent runs", anchor=False)
    for run in runs:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            look = st.button("Watch", key=f"live_watch_{run.id}", icon=":material/visibility:")
            opened = st.button("Replay", key=f"live_replay_{run.id}", icon=":material/play_circle:")
            st.markdown(_line(run))
        if look:
            watch(session, run.id)
            st.rerun()
        if opened:
            open_in_replay(session, run)


def _line(run: LiveRun) -> str:
    started = (run.header.started_at or "")[11:19]
    model = plain(run.header.model or "model unknown")
    words = [f"{started} UTC", str(run.header.endpoint), model, f"{run.pace().tokens:,} tokens"]
    if run.state is not RunState.ENDED:
        words.append(f"{_SIGNS[run.state]} {run.state}")
    elif run.outcome.failure:
        words.append(f":red[{plain(run.outcome.failure)}]")
    elif run.look is not None:
        words.append(str(run.look.verdict.level))
    return " · ".join(words)
