"""Progress and result of a probe: the sentence first, then tables and plots."""

from typing import Final

import pandas as pd
import streamlit as st

from inspector import dashboard
from inspector.dashboard import Probe, ProbeRow, ProbeRun, ProbeSummary, RequestGroup, Result
from pages.parts.probe import plots
from pages.ui.pickers import plain
from pages.ui.state import Opened, Session
from pages.ui.tables import counts

_EACH_S: Final = 0.5
_ROWS: Final = 500
_WORDS: Final = {
    Result.OK: "● ok",
    Result.DAMAGED: "✕ silently damaged",
    Result.FAILED: "▲ failed",
    Result.UNKNOWN: "? unknown",
}
"""Readable without colour, as on the Matrix page."""


def watched(session: Session) -> ProbeRun | None:
    """The probe that the page shows, if it is still in memory."""
    name = session.probe or st.query_params.get("probe")
    run = dashboard.probes().get(name) if name else None
    if run is None and name:
        st.warning(
            "This probe is no longer in memory. Its rows and captures are in the folder of live captures.",
            icon=":material/link_off:",
        )
    session.probe = None if run is None else run.id
    if run is not None:
        session.address({"probe": run.id})
    return run


def progress(run: ProbeRun) -> None:
    """The progress, redrawn while the probe runs."""
    st.fragment(_progress, run_every=_EACH_S)(run)


def _progress(run: ProbeRun) -> None:
    if run.ended:
        st.rerun()
    if run.probe is None:
        st.caption("Asking the server for its version and models.")
        return
    state = run.probe.progress()
    share = min(1.0, state.done / state.total) if state.total else None
    words = plain(dashboard.progress_line(state))
    if share is None:
        st.caption(words)
    else:
        st.progress(share, words)
    if state.done:
        summary = _summary(run.probe)
        st.markdown(f"# {plain(summary.sentence)}")
        _groups(summary)


def _summary(probe: Probe) -> ProbeSummary:
    sweep = probe.sweep
    if sweep is None:
        return dashboard.probe_summary(probe.rows)
    return dashboard.probe_summary(probe.rows, swept=True, threshold=sweep.threshold)


def results(session: Session, run: ProbeRun) -> None:
    """The result of a probe that has ended."""
    probe = run.probe
    if probe is None or (run.trouble and not probe.rows):
        st.error(
            plain(run.trouble or "Stopped before the first request was sent."), icon=":material/link_off:"
        )
        return
    summary = _summary(probe)
    st.markdown(f"# {plain(summary.sentence)}")
    for note in (*summary.notes, *dashboard.probe_endings(probe)):
        st.markdown(plain(note))
    if run.resumable and st.button("Continue", icon=":material/resume:", key="probe_continue"):
        session.probe = dashboard.probes().start(run.plan).id
        session.address({"probe": session.probe})
        st.rerun()
    servers = "; ".join(f"{target.name} {target.label} ({target.model})".strip() for target in probe.targets)
    st.caption(plain(f"{servers} · {dashboard.progress_line(probe.progress())}"))
    _groups(summary)
    theme = "dark" if st.context.theme.type == "dark" else "light"
    left, right = st.columns(2, gap="medium")
    with left:
        for title, groups in (
            ("streams at once", summary.by_load),
            ("tokens per event", summary.by_tokens_per_event),
        ):
            figure = plots.losses(groups, title, theme)
            if figure is not None:
                st.header(f"Damaged responses by {title}", anchor=False)
                alt = f"Share of damaged responses by {title}, with 95% intervals"
                st.plotly_chart(figure, key=f"probe_losses_{title}", alt=alt)
    with right:
        figure = plots.times(summary, theme)
        if figure is not None:
            st.header("Times", anchor=False)
            st.plotly_chart(
                figure, key="probe_times", alt="Percentiles of the first token and of gaps by channel"
            )
            st.caption(
                "A failed request counts as one whose first token never came. A missing mark means never."
            )
    _findings(summary)
    _streams(session, run, probe)


def _groups(summary: ProbeSummary) -> None:
    """All requests, and the same by server, endpoint, load and tokens per event."""
    rows = [_cells("all requests", summary.total)]
    for title, groups in (
        ("server", summary.sides),
        ("endpoint", summary.by_endpoint),
        ("streams at once", summary.by_load),
        ("tokens per event", summary.by_tokens_per_event),
    ):
        if len(groups) > 1:
            rows += [_cells(f"{title}: {group.name}", group) for group in groups]
    if summary.control is not None:
        rows.append(_cells("control on completions", summary.control))
    table = pd.DataFrame(rows)
    st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        key="probe_groups",
        column_config=counts(table),
        alt="Requests by result, and rates with 95% intervals",
    )


def _cells(name: str, group: RequestGroup) -> dict[str, str | int]:
    return {
        "requests": name,
        "sent": group.requests,
        "ok": group.ok,
        "failed": group.failed,
        "silently damaged": group.damaged,
        "unknown": group.unknown,
        "damaged rate (95%)": dashboard.rate_words(group.loss),
        "failed rate (95%)": dashboard.rate_words(group.failure),
    }


def _findings(summary: ProbeSummary) -> None:
    """Kinds of findings, causes, and how requests failed."""
    if summary.causes:
        st.header("Causes", anchor=False)
        for key, title, amount in summary.causes:
            st.markdown(f"{amount:,} × {plain(title)} (`{key}`)")
    if summary.kinds:
        listed = ", ".join(f"{dashboard.kind_label(kind)} ({amount:,})" for kind, amount in summary.kinds)
        st.caption(plain(f"Findings, by streams that have one: {listed}"))
    for failure in summary.failures[:3]:
        st.caption(plain(f"Failed: {dashboard.failure_words(failure)}"))


def _streams(session: Session, run: ProbeRun, probe: Probe) -> None:
    """The streams that are not ok; a selected one opens in Replay."""
    worst = dashboard.worst_rows(probe.rows)
    st.header("Damaged, failed and unknown responses", anchor=False)
    if not worst:
        st.caption("None.")
        return
    listed = worst[:_ROWS]
    table = pd.DataFrame([_stream(row) for row in listed])
    chosen = st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        on_select="rerun",
        selection_mode="single-row",
        key=f"probe_streams_{run.id}",
        column_config=counts(table),
        alt="Responses that were damaged, failed, or could not be checked",
    )["selection"]["rows"]
    row = listed[chosen[0] if chosen and chosen[0] < len(listed) else 0]
    _open(session, run, probe, row)
    if len(worst) > len(listed):
        st.caption(f"The first {len(listed):,} of {len(worst):,}; the folder of the probe has all rows.")


def _stream(row: ProbeRow) -> dict[str, str | int]:
    return {
        "request": row.number + 1,
        "result": _WORDS[row.result],
        "endpoint": row.endpoint.value,
        **({"server": row.side} if row.side else {}),
        "at once": row.in_flight,
        "verdict": row.response.sentence,
    }


def _open(session: Session, run: ProbeRun, probe: Probe, row: ProbeRow) -> None:
    capture = None if probe.shelf is None else probe.shelf.capture(row)
    words = (
        f"Request {row.number + 1:,}{f' to server {row.side}' if row.side else ''}: {row.response.sentence}"
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="probe_open_row"):
        pressed = st.button(
            "Open in Replay",
            icon=":material/play_circle:",
            type="primary",
            key="probe_open",
            disabled=capture is None,
        )
        st.markdown(plain(words), width=900)
    if capture is None:
        st.caption("Its capture was not kept.")
    elif pressed:
        name = row.capture.rpartition("/")[2]
        session.open([Opened(name=name, digest=f"{run.id} {name}", capture=capture)])
        st.switch_page("replay.py")
