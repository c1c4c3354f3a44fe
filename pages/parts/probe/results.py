"""Progress and result of a probe: the sentence first, then tables and plots."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from inspector import Level
from inspector.analysis.audit.kinds import kind_label
from inspector.capture.formats import number
from inspector.files.store import builtin, load
from inspector.fleet.probe import EXPORTS as PROBE_EXPORTS
from inspector.fleet.probe import (
    Probe,
    ProbeRow,
    ProbeSummary,
    RequestGroup,
    Result,
    failure_words,
    probe_row,
)
from inspector.fleet.probe import summary as summary_of_rows
from inspector.fleet.probe.reporting import probe_endings, progress_line, rate_words, worst_rows
from inspector.fleet.probe.reporting import summary_of as probe_summary
from inspector.fleet.probe.rows import audited_response
from inspector.fleet.probe_registry import ProbeRun, probes
from inspector.protocol.wire.endpoints import asked_endpoints
from inspector.views.encoding import json_bytes
from pages.parts.probe import plots
from pages.ui.banner import follow, sentence_banner
from pages.ui.captures import clock
from pages.ui.downloads import Download, menu
from pages.ui.pickers import plain
from pages.ui.rows import rows
from pages.ui.state import Opened, Session
from pages.ui.tables import counts

_EACH_S: Final = 0.5
_ROWS: Final = 500
_STREAMS_PX: Final = 460
_REASONS_PX: Final = 300
_SIGNS: Final = {Result.OK: "●", Result.DAMAGED: "✕", Result.FAILED: "▲", Result.UNKNOWN: "?"}
"""Readable without colour, as on the Matrix page."""


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
    words = plain(progress_line(state))
    if share is None:
        st.caption(words)
    else:
        st.progress(share, words)
    if state.done:
        summary = probe_summary(run.probe)
        _sentence(summary, "So far: ")
        _groups(summary)


def results(session: Session, run: ProbeRun) -> None:
    """The result of a probe that has ended."""
    probe = run.probe
    if probe is None or (run.trouble and not probe.rows):
        st.error(
            plain(run.trouble or "Stopped before the first request was sent."), icon=":material/link_off:"
        )
        return
    summary = probe_summary(probe)
    _sentence(summary, notes=probe_endings(probe))
    if run.resumable and st.button("Continue", icon=":material/resume:", key="probe_continue"):
        session.probe = probes().start(run.plan).id
        session.address({"probe": session.probe})
        st.rerun()
    servers = "; ".join(f"{target.name} {target.label} ({target.model})".strip() for target in probe.targets)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="probe_files_row"):
        menu(_downloads(run, probe), key="probe_download")
        started = clock(run.started_at.isoformat())
        st.caption(plain(f"{started} · {servers} · {progress_line(probe.progress())}"), width="stretch")
    counted = [row for row in probe.rows if not row.control]
    left, right = st.columns(2, gap="medium")
    with left:
        _plot_of("Over time", plots.over_time(counted, _theme()), "Requests by result over time")
    with right:
        opened = _reasons(counted)
        if opened is not None:
            _open(session, run, probe, opened)
    _plots(summary)
    _groups(summary)
    _findings(summary)
    _streams(session, run, probe)


def example() -> None:
    """What a result looks like, before the first one: the built-in captures, counted."""
    counted = _example_rows()
    totals = summary_of_rows(counted)
    st.markdown("**EXAMPLE** · the built-in captures, each counted as a response")
    _sentence(totals)
    left, right = st.columns(2, gap="medium")
    with left:
        opened = _reasons(counted)
        if opened is not None:
            st.switch_page("replay.py", query_params={"capture": opened.capture})
    with right:
        _plot_of(
            "Damaged responses by tokens per event",
            plots.losses(totals.by_tokens_per_event, "tokens per event", _theme()),
            "Share of damaged responses by tokens per event, with 95% intervals",
        )


@st.cache_resource(show_spinner=False)
def _example_rows() -> Sequence[ProbeRow]:
    return [
        ProbeRow(
            number=number,
            side="",
            level=1,
            endpoint=capture.header.endpoint,
            prompt="",
            streamed=True,
            control=False,
            started_s=0.0,
            in_flight=1,
            deferred=0,
            response=audited_response(capture, None),
            capture=row.name,
        )
        for number, row in enumerate(builtin())
        if (capture := load(row.path)).header.endpoint in asked_endpoints()
    ]


def _sentence(summary: ProbeSummary, beginning: str = "", *, notes: Sequence[str] = ()) -> None:
    """The result, what most of it comes from, and the fix for that."""
    cause = summary.causes[0] if summary.causes else None
    blame = ""
    if cause is not None:
        of = summary.total.damaged + summary.total.failed
        blame = f"Cause of {number(cause.streams)} of {number(of)}: {cause.title}."
    wanted = sentence_banner(
        _level(summary),
        beginning + summary.sentence,
        " ".join([blame, *summary.notes, *notes]).strip(),
        (),
        key="probe_banner",
        blame=blame,
        fixes=[] if cause is None else [fix for fix in cause.fixes if not fix.folded and not fix.command],
    )
    follow(wanted)


def _level(summary: ProbeSummary) -> Level:
    if summary.total.damaged:
        return Level.ERROR
    if summary.total.failed:
        return Level.WARNING
    return Level.CLEAN if summary.total.ok else Level.UNKNOWN


def _reasons(counted: Sequence[ProbeRow]) -> ProbeRow | None:
    """Why responses are not ok, with how many of each; the first one of a row that was opened just now."""
    st.header("Why", anchor=False)
    by_reason: dict[str, list[ProbeRow]] = {}
    for row in worst_rows(counted):
        by_reason.setdefault(reason(row), []).append(row)
    if not by_reason:
        st.caption("Every response is ok.")
        return None
    groups = sorted(by_reason.items(), key=lambda group: -len(group[1]))
    opened = rows(
        [{"cause, opens one in Replay": why, "responses": len(affected)} for why, affected in groups],
        label="Why responses are not ok",
        opens="cause, opens one in Replay",
        key="probe_reasons",
        height=_REASONS_PX,
    )
    if opened is None:
        return None
    affected = groups[opened][1]
    return next((row for row in affected if row.capture), affected[0])


def reason(row: ProbeRow) -> str:
    """Why a response is not ok; damage without a known cause is named by its kinds, as sentences vary."""
    response = row.response
    why = response.cause_title or response.failure
    if not why and row.result is Result.DAMAGED:
        why = f"no known cause: {', '.join(map(kind_label, response.kinds))}"
    return f"{_SIGNS[row.result]} {why or response.sentence}"


def _downloads(run: ProbeRun, probe: Probe) -> list[Download]:
    """The files that the command writes."""
    stem = f"probe-{run.id}"
    files = [
        Download(export.title, f"{stem}.{export.ending}", export.mime, partial(_encoded, export.make, probe))
        for export in PROBE_EXPORTS
    ]
    result = partial(_result, probe)
    return [Download("Result (JSON)", f"{stem}.json", "application/json", result), *files]


def _result(probe: Probe) -> bytes:
    return json_bytes(probe_row(probe))


def _encoded(export: Callable[[Sequence[ProbeRow], Path | None], str], probe: Probe) -> bytes:
    # Lone surrogates come from JSON escapes in a stream; UTF-8 cannot encode them.
    return export(probe.rows, None if probe.shelf is None else probe.shelf.folder).encode("utf-8", "replace")


def _theme() -> str:
    return "dark" if st.context.theme.type == "dark" else "light"


def _plots(summary: ProbeSummary) -> None:
    """The plots side by side, as many as there are."""
    theme = _theme()
    drawn = []
    for title, groups in (
        ("streams at once", summary.by_load),
        ("tokens per event", summary.by_tokens_per_event),
    ):
        if (figure := plots.losses(groups, title, theme)) is not None:
            alt = f"Share of damaged responses by {title}, with 95% intervals"
            drawn.append((f"Damaged responses by {title}", figure, alt, ""))
    if (figure := plots.times(summary, theme)) is not None:
        note = "A failed request counts as one whose first token never came. A missing mark means never."
        drawn.append(("Times", figure, "Percentiles of the first token and of gaps by channel", note))
    for place, (title, figure, alt, note) in zip(
        st.columns(len(drawn) or 1, gap="medium"), drawn, strict=False
    ):
        with place:
            _plot_of(title, figure, alt, note)


def _plot_of(title: str, figure: go.Figure | None, alt: str, note: str = "") -> None:
    if figure is None:
        return
    st.header(title, anchor=False)
    st.plotly_chart(figure, key=f"probe_plot_{title}", alt=alt)
    if note:
        st.caption(note)


def _groups(summary: ProbeSummary) -> None:
    """All requests, and the same by server, endpoint, load and tokens per event."""
    table_rows = [] if summary.sides else [_cells("all requests", summary.total)]
    for title, groups in (
        ("server", summary.sides),
        ("endpoint", summary.by_endpoint),
        ("streams at once", summary.by_load),
        ("tokens per event", summary.by_tokens_per_event),
    ):
        if len({group.name for group in groups}) > 1:
            table_rows += [_cells(f"{title}: {group.label}", group) for group in groups]
    if summary.control is not None:
        table_rows.append(_cells("control on completions", summary.control))
    table = pd.DataFrame(table_rows)
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
        "damaged rate (95%)": rate_words(group.loss),
        "failed rate (95%)": rate_words(group.failure),
    }


def _findings(summary: ProbeSummary) -> None:
    """Kinds of findings, and how requests failed."""
    if summary.kinds:
        listed = ", ".join(f"{kind_label(kind)} ({amount:,})" for kind, amount in summary.kinds)
        st.caption(plain(f"Findings, by streams that have one: {listed}"))
    for failure in summary.failures[:3]:
        st.caption(plain(f"Failed: {failure_words(failure)}"))


def _streams(session: Session, run: ProbeRun, probe: Probe) -> None:
    """The streams that are not ok; each opens in Replay."""
    worst = worst_rows(probe.rows)
    st.header("Damaged, failed and unknown responses", anchor=False)
    if not worst:
        st.caption("None.")
        return
    listed = worst[:_ROWS]
    opened = rows(
        list(map(_stream, listed)),
        label="Responses that were damaged, failed, or could not be checked",
        opens="verdict",
        key="probe_streams",
        height=_STREAMS_PX,
    )
    if opened is not None:
        _open(session, run, probe, listed[opened])
    if len(worst) > len(listed):
        st.caption(f"The first {len(listed):,} of {len(worst):,}; the folder of the probe has all rows.")


def _stream(row: ProbeRow) -> dict[str, str | int]:
    return {
        "request": row.number + 1,
        "result": f"{_SIGNS[row.result]} {plots.RESULT_WORDS[row.result]}",
        "endpoint": row.endpoint.value,
        **({"server": row.side} if row.side else {}),
        "at once": row.in_flight,
        "verdict": row.response.sentence,
    }


def _open(session: Session, run: ProbeRun, probe: Probe, row: ProbeRow) -> None:
    capture = None if probe.shelf is None else probe.shelf.capture(row)
    if capture is None:
        st.caption(f"The capture of request {row.number + 1:,} was not kept.")
        return
    name = row.capture.rpartition("/")[2]
    session.open([Opened(name=name, digest=f"{run.id} {name}", capture=capture)])
    st.switch_page("replay.py")
