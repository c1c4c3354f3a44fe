"""Which run is watched, and the other runs, those of the tap among them; each opens in Replay."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

import streamlit as st

from inspector import Level, dashboard
from inspector.dashboard import LiveRun, OutcomeKind, RunState, Upstream
from pages.parts.live import form
from pages.ui import captures
from pages.ui.pickers import plain
from pages.ui.state import Opened, Session

__all__ = ["open_in_compare", "open_in_replay", "recent", "watch", "watched"]

_SHOWN: Final = 12
_EACH_S: Final = 2.0
_SIGNS: Final = {RunState.WAITING: ":material/hourglass_top:", RunState.STREAMING: ":material/podcasts:"}
_LEVELS: Final = {
    Level.CLEAN: ":green[:material/check_circle:]",
    Level.WARNING: ":orange[:material/warning:]",
    Level.ERROR: ":red[:material/error:]",
    Level.UNKNOWN: ":gray[:material/help:]",
}


def watch(session: Session, run: str) -> None:
    """Watch a run; its name is in the URL, so that a reload continues with it."""
    session.run = run
    session.address({"run": run})


def watched(session: Session) -> LiveRun | None:
    """The run that is watched, if it is still known."""
    name = session.run or st.query_params.get("run")
    run = dashboard.registry().get(name) if name else None
    if run is None:
        return None
    if session.run != run.id or st.query_params.get("run") != run.id:
        watch(session, run.id)
    return run


def open_in_replay(session: Session, run: LiveRun) -> None:
    """Open what came of a run on the Replay page."""
    session.open([_opened(run)])
    st.switch_page("replay.py")


def open_in_compare(session: Session, left: LiveRun, right: LiveRun) -> None:
    """Open two runs on the Compare page."""
    sides = {"left": _opened(left), "right": _opened(right)}
    session.open(list(sides.values()))
    st.switch_page("compare.py", query_params={side: one.name for side, one in sides.items()})


def _opened(run: LiveRun) -> Opened:
    name = run.path.name if run.path else f"{run.id}.jsonl"
    return Opened(name=name, digest=f"{run.id} {len(run.events)}", capture=run.capture())


def recent(session: Session, shown: LiveRun | None) -> None:
    """The runs of this process, the newest first; drawn again while more may come by themselves."""
    upstreams = dashboard.configured_upstreams()
    busy = any(run.state is not RunState.ENDED for run in dashboard.registry().runs())
    st.fragment(_recent, run_every=_EACH_S if busy or upstreams else None)(session, shown, upstreams)


def _recent(session: Session, shown: LiveRun | None, upstreams: Sequence[Upstream]) -> None:
    registry = dashboard.registry()
    runs = [run for run in registry.runs() if shown is None or run.id != shown.id][:_SHOWN]
    if runs or upstreams:
        st.header("Recent runs", anchor=False)
    if upstreams:
        _tap(upstreams)
    for run in runs:
        registry.audit_soon(run)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            look = st.button("Watch", key=f"live_watch_{run.id}", icon=":material/visibility:")
            opened = st.button("Replay", key=f"live_replay_{run.id}", icon=":material/play_circle:")
            st.markdown(_line(run), width=840)
        if look:
            form.show_of(session, run.id)
            watch(session, run.id)
            st.rerun()
        if opened:
            open_in_replay(session, run)
    if not upstreams:
        st.caption(
            "To see requests from other clients here, start the dashboard with "
            '`HARMONY_INSPECTOR_UPSTREAMS="name=http://localhost:8000"`.'
        )


def _tap(upstreams: Sequence[Upstream]) -> None:
    """Base URLs for other clients, so that their responses are listed here."""
    st.caption(
        "Use one of these as the base URL of an OpenAI client to see its responses here while they stream."
    )
    for one in upstreams:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.code(f"{_origin()}/tap/{one.name}/v1", language=None, width=420)
            asked = " (token IDs are requested)" if one.add_token_ids else ""
            st.caption(plain(f"to {one.server.v1}{asked}"))


def _origin() -> str:
    """The dashboard's address as this browser has it, so that it holds from other machines too."""
    parts = urlsplit(st.context.url or "")
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else f"http://127.0.0.1:{_port()}"


def _port() -> int:
    return int(st.get_option("server.port"))


def _line(run: LiveRun) -> str:
    model = plain(run.header.model or "model unknown")
    words = [captures.started(run), str(run.header.endpoint), model, captures.size(run)]
    if not run.own:
        words.insert(1, plain(run.header.source or ""))
    if run.state is not RunState.ENDED:
        words.append(f"{_SIGNS[run.state]} {run.state}")
    elif run.outcome.kind is OutcomeKind.STOPPED_BY_USER:
        words.append(f":gray[{plain(run.outcome.failure)}]")
    elif run.outcome.failed:
        words.append(f":red[{plain(run.outcome.failure)}]")
    elif run.look is not None:
        told = run.look.seen.verdict
        words.append(f"{_LEVELS[told.level]} {plain(told.sentence)}")
    return " · ".join(words)
