"""The run that is watched, and the list of recent runs, also those of the tap."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

import streamlit as st

from inspector import Level
from inspector.net.client.outcome import OutcomeKind
from inspector.net.runs.registry import registry
from inspector.net.runs.run import LiveRun, RunState
from inspector.net.tap import Upstream, configured_upstreams
from pages.parts.live import form_state
from pages.ui import captures
from pages.ui.pickers import plain
from pages.ui.state import Opened, Session, went_back

_SHOWN: Final = 12
_CHOSEN_FROM: Final = 4
"""With at least this many runs, they can be filtered and sorted."""
_NEWEST: Final = "Newest first"
_WORST: Final = "Errors first"
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
    """The run that is watched, if it is still in memory."""
    linked = st.query_params.get("run")
    name = linked if linked and went_back() else session.run or linked
    run = registry().get(name) if name else None
    if run is None:
        if linked:
            st.warning(
                plain(f"Run {linked} not found: the dashboard was restarted, or the run was removed."),
                icon=":material/link_off:",
            )
        return None
    if session.run != run.id or st.query_params.get("run") != run.id:
        watch(session, run.id)
    return run


def open_in_replay(session: Session, run: LiveRun) -> None:
    """Open the capture of a run on the Replay page."""
    captures.take(session, [_opened(run)])
    st.switch_page("replay.py")


def open_in_compare(session: Session, left: LiveRun, right: LiveRun) -> None:
    """Open two runs on the Compare page."""
    sides = {"left": _opened(left), "right": _opened(right)}
    captures.take(session, list(sides.values()))
    st.switch_page("compare.py", query_params={side: opened.name for side, opened in sides.items()})


def _opened(run: LiveRun) -> Opened:
    name = run.path.name if run.path else f"{run.id}.jsonl"
    return Opened(name=name, digest=f"{run.id} {len(run.events)}", capture=run.capture())


def recent(session: Session, watched_run: LiveRun | None) -> None:
    """The runs of this process, the newest first; redrawn while new ones may appear."""
    upstreams = configured_upstreams()
    busy = any(run.state is not RunState.ENDED for run in registry().runs())
    st.fragment(_recent, run_every=_EACH_S if busy or upstreams else None)(session, watched_run, upstreams)


def _recent(session: Session, watched_run: LiveRun | None, upstreams: Sequence[Upstream]) -> None:
    live = registry()
    runs = [run for run in live.runs() if watched_run is None or run.id != watched_run.id]
    if runs or upstreams:
        st.header("Recent runs", anchor=False)
    if upstreams:
        _tap(upstreams)
    for run in runs:
        live.audit_soon(run)
    for run in _listed(runs):
        row = f"live_recent_{run.id}"
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=row):
            look = st.button("Watch", key=f"live_watch_{run.id}", icon=":material/visibility:")
            opened = st.button("Replay", key=f"live_replay_{run.id}", icon=":material/play_circle:")
            if run.state is RunState.ENDED:
                st.button(
                    "Remove",
                    key=f"live_forget_{run.id}",
                    icon=":material/close:",
                    help="Remove the run from this list. Its capture file stays.",
                    on_click=live.forget,
                    args=(run,),
                )
            st.markdown(" · ".join(filter(None, [*_facts(run), _state(run)])), width=700)
        if look:
            form_state.show_of(session, run.id)
            watch(session, run.id)
            st.rerun()
        if opened:
            open_in_replay(session, run)
    if not upstreams:
        st.caption(
            "To see requests from other clients here, start the dashboard with "
            '`HARMONY_INSPECTOR_UPSTREAMS="name=http://localhost:8000"`.'
        )


def _listed(runs: Sequence[LiveRun]) -> Sequence[LiveRun]:
    """The runs that match the filter, sorted."""
    if len(runs) < _CHOSEN_FROM:
        return runs
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        words = st.text_input(
            "Filter runs",
            placeholder="model, endpoint, verdict or words",
            key="live_runs_filter",
            label_visibility="collapsed",
            width=360,
        )
        order = st.segmented_control(
            "Order",
            [_NEWEST, _WORST],
            default=_NEWEST,
            required=True,
            key="live_runs_order",
            label_visibility="collapsed",
        )
    matches = [run for run in runs if _matches(run, words)]
    if order == _WORST:
        matches.sort(key=_rank)
    if len(matches) > _SHOWN:
        st.caption(f"{_SHOWN} of {len(matches)} runs. Filter to see others.")
    elif not matches:
        st.caption("No run matches this filter.")
    return matches[:_SHOWN]


def _matches(run: LiveRun, words: str) -> bool:
    text = " ".join([*_facts(run), _state(run), *([str(_level(run))] if _level(run) else [])])
    text = text.replace("\\", "").lower()
    return all(word in text for word in words.lower().split())


def _rank(run: LiveRun) -> int:
    order = (Level.ERROR, Level.WARNING, Level.UNKNOWN, Level.CLEAN, None)
    return order.index(_level(run))


def _level(run: LiveRun) -> Level | None:
    """The verdict of an ended run; None if it was stopped by the user, and before the audit."""
    if run.state is not RunState.ENDED or run.outcome.kind is OutcomeKind.STOPPED_BY_USER:
        return None
    if run.outcome.failed:
        return Level.ERROR
    return None if run.look is None else run.look.examined.verdict.level


def _tap(upstreams: Sequence[Upstream]) -> None:
    """Base URLs for other clients, so that their responses are listed here."""
    st.caption(
        "Use one of these as the base URL of an OpenAI client to see its responses here while they stream."
    )
    for upstream in upstreams:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.code(f"{_origin()}/tap/{upstream.name}/v1", language=None, width=420)
            note = " (token IDs are requested)" if upstream.add_token_ids else ""
            st.caption(plain(f"to {upstream.server.v1}{note}"))


def _origin() -> str:
    """The dashboard's address as this browser uses it, so that it is valid on other machines too."""
    parts = urlsplit(st.context.url or "")
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else f"http://127.0.0.1:{_port()}"


def _port() -> int:
    return int(st.get_option("server.port"))


def _facts(run: LiveRun) -> list[str]:
    model = plain(run.header.model or "model unknown")
    words = [captures.started(run), str(run.header.endpoint), model, captures.size(run)]
    if not run.own:
        words.insert(1, plain(run.header.source or ""))
    return words


def _state(run: LiveRun) -> str:
    if run.state is not RunState.ENDED:
        return f"{_SIGNS[run.state]} {run.state}"
    if run.outcome.kind is OutcomeKind.STOPPED_BY_USER:
        return f":gray[{plain(run.outcome.failure)}]"
    if run.outcome.failed:
        return f":red[{plain(run.outcome.failure)}]"
    if run.look is None:
        return ""
    verdict = run.look.examined.verdict
    return f"{_LEVELS[verdict.level]} {plain(verdict.sentence)}"
