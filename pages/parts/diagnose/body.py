"""A diagnosis on a page: what was asked, the answers, the failures with their lines, a log over time."""

import hashlib
import io
import json
from collections.abc import Iterator
from typing import Final, assert_never, cast

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import inspector
from inspector import Diagnosis, InspectorError, Level, dashboard
from inspector.dashboard import Answer, DiagnosisOutcome, Failure, Issue, Route
from pages.ui import captures, pickers
from pages.ui.errors import show_error
from pages.ui.palette import series
from pages.ui.state import Session

EXAMPLES: Final = {
    "under a benchmark": "$ vllm bench serve --model openai/gpt-oss-120b --ignore-eos\n"
    "openai.InternalServerError: Error code: 500 - {'error': {'message': "
    "'Unexpected token 200002 while expecting start token 200006', 'code': 500}}",
    "after a fine-tune": "gpt-oss-20b fine-tuned with LLaMA-Factory, served by vLLM 0.11.0:\n"
    "openai_harmony.HarmonyError: Unexpected token 200002 while expecting start token 200006",
    "with tools": 'data: {"error": {"message": "Unexpected token 12606 while expecting start token 200006", '
    '"type": "BadRequestError", "code": 400}}',
    "assistantary": "openai_harmony.HarmonyError: Unknown role: assistantary",
    "leftover header": "openai_harmony.HarmonyError: unexpected tokens remaining in message header: "
    'Some("to=functions.get_weather")',
}
LOG_LIMIT_MB: Final = 1024
"""The server's `maxUploadSize` must allow it."""
_PROGRESS_EVERY: Final = 8_000_000
"""Characters between two movements of the progress bar."""
_ANSWERS_OPEN: Final = 1
_ANSWERS_SHOWN: Final = 6
_FOUND_SHOWN: Final = 12
_OCCURRENCES: Final = 3
_MESSAGES_PLOTTED: Final = 5
_FEW_TIMES: Final = 3
"""Up to so many minutes bars are drawn narrow: a bar as wide as the plot looks like an area."""
_OTHERS: Final = "others"


def asked(session: Session) -> Diagnosis | None:
    """What the user gave, diagnosed; None when nothing was given yet."""
    kinds = ["Text", "Log", "Capture"]
    linked = "Capture" if "capture" in st.query_params else "Text"
    kind = st.segmented_control(
        "From", kinds, default=linked, required=True, key="diagnose_kind", label_visibility="collapsed"
    )
    if kind == "Log":
        return _log(session)
    if kind == "Capture":
        pickers.uploads(session)
        pickers.capture(session)
        one = captures.chosen(session)
        return None if one is None else inspector.diagnose_capture(one.seen.findings, one.seen.reading)
    return _text(session)


def _text(session: Session) -> Diagnosis | None:
    example = st.pills("Examples", list(EXAMPLES), key="diagnose_example")
    key = f"diagnose_text_{example}"
    if key not in st.session_state:  # the browser forgets a field when its page is left
        st.session_state[key] = session.pasted if example is None else EXAMPLES[example]
    text = st.text_area(
        "Error message, traceback or client output",
        height=160,
        placeholder="openai_harmony.HarmonyError: Unexpected token 200002 while expecting start token 200006",
        key=key,
    )
    if example is None:
        session.pasted = text
    # Leaving the field starts the diagnosis; the button is there because users expect one.
    with st.container(horizontal=True):
        st.button("Diagnose", icon=":material/troubleshoot:", type="primary", key="diagnose_start")
        beside = st.empty()
    if not text.strip():
        return None
    content = text.encode("utf-8", "replace")
    try:
        found, capture = dashboard.of_content(content, "the pasted text")
    except InspectorError as error:
        show_error(error)
        return None
    # The response itself is evidence that a diagnosis only names.
    if capture is not None and beside.button(
        "Open in Replay", icon=":material/play_circle:", key="diagnose_open"
    ):
        captures.open_file(session, "pasted.txt", content)
        st.switch_page("replay.py")
    return found


def _log(session: Session) -> Diagnosis | None:
    file = st.file_uploader(
        "vLLM log",
        key="diagnose_log",
        max_upload_size=LOG_LIMIT_MB,
        help="The log is read once, line by line, and stays on this machine.",
    )
    st.caption(
        "Plain text, gzip or zstd. If the log is larger than 1 GB or memory is limited, use "
        "`python -m inspector diagnose vllm.log`, which reads any size in bounded memory."
    )
    if file is None and session.log is not None:
        name, content = session.log
        opened, key = io.BytesIO(content), name
        st.caption(pickers.plain(f"Showing {name}, opened on another page."))
    elif file is not None:
        session.log = None
        opened, name, key = file, file.name, file.file_id
    else:
        return None
    try:
        if key not in session.logs:
            session.logs = {key: _read(opened, name)}
        return session.logs[key]
    except InspectorError as error:
        show_error(error)
        return None


def _read(file: io.BytesIO, name: str) -> Diagnosis:
    bar = st.progress(0.0, "Reading the log")
    ahead = io.BufferedReader(cast(io.RawIOBase, file))
    try:
        plain = dashboard.decompress(ahead, name)
        return inspector.diagnose_text(_watched(dashboard.lines_of_file(plain), file, bar))
    finally:
        ahead.detach()  # otherwise the upload would be closed with it
        bar.empty()


def _watched(lines: Iterator[str], file: io.BytesIO, bar: DeltaGenerator) -> Iterator[str]:
    """The lines, with the progress bar moved along by how much of the file, packed or not, is read."""
    seen, size = 0, file.getbuffer().nbytes
    for line in lines:
        seen += len(line)
        if seen > _PROGRESS_EVERY:
            seen, done = 0, file.tell()
            bar.progress(min(done / max(size, 1), 1.0), f"{done / 1e6:,.0f} of {size / 1e6:,.0f} MB read")
        yield line


def level(found: Diagnosis) -> Level:
    """The colour of the verdict; what matches nothing is no proof that all is well, evidence is."""
    match found.outcome:
        case DiagnosisOutcome.KNOWN:
            return Level.ERROR
        case DiagnosisOutcome.ROUTED:
            return Level.WARNING
        case DiagnosisOutcome.UNKNOWN:
            return Level.UNKNOWN
        case DiagnosisOutcome.NOTHING:
            return Level.CLEAN if found.proven else Level.UNKNOWN
        case _:
            assert_never(found.outcome)


def why(found: Diagnosis) -> str:
    """One line under the sentence: the first thing to do."""
    return found.next_step or "No known issue matches this capture."


def facts(found: Diagnosis) -> list[tuple[str, str, str]]:
    """Facts for the row of chips: words before, the value, words after."""
    told = list(dict.fromkeys((seen.version, seen.source) for seen in found.versions))[:3]
    rows = [(found.server, version, f"by {source}") for version, source in told]
    rows = rows or [(f"{found.server} version", "unknown", "")]
    if found.is_log:
        rows.append(("", f"{found.lines:,}", "lines"))
        rows += [("", f"{count:,}", path) for path, count in sorted(found.requests.items())]
    count = len(found.failures)
    what = "failure message" if found.lines else "finding"
    rows.append(("", dashboard.number(count), dashboard.plural(count, what)))
    return rows


def places(
    found: Diagnosis,
) -> tuple[DeltaGenerator, "st.delta_generator.DeltaGenerator"]:
    """Where the answers stand, and what was found: beside each other, below each other for a log."""
    if found.is_log:
        return st.container(), st.container()
    left, right = st.columns([3, 2], gap="medium")
    return left, right


def answers(found: Diagnosis) -> None:
    """The likeliest issues, the first one open; for a routed text where to go with it."""
    if found.route is not None:
        _route(found.route)
    for place, answer in enumerate(found.answers[:_ANSWERS_SHOWN]):
        title = f"{place + 1}. {pickers.plain(answer.issue.title)}"
        with st.expander(title, expanded=place < _ANSWERS_OPEN):
            _issue(answer, found)
    if len(found.answers) > _ANSWERS_SHOWN:
        st.caption(f"The download also contains {len(found.answers) - _ANSWERS_SHOWN} less likely issues.")


def _route(route: Route) -> None:
    st.markdown("**What to do**\n\n" + "\n".join(f"1. {pickers.plain(step)}" for step in route.steps))
    if route.links:
        st.caption(" · ".join(f"[{link.removeprefix('https://')}]({link})" for link in route.links))


def closest(found: Diagnosis) -> None:
    """Where no message is known: entries in similar words, each with the one command that settles it."""
    if not found.closest:
        return
    st.markdown("**Closest known issues**")
    st.caption("No match: these issues only use similar words. The command shows whether one is the cause.")
    for issue in found.closest:
        with st.expander(pickers.plain(issue.title)):
            st.markdown(pickers.plain(issue.cause))
            st.markdown("**To settle it**")
            st.code(found.settles(issue), language=None, wrap_lines=True)
            _sources(issue)


def _issue(answer: Answer, found: Diagnosis) -> None:
    issue = answer.issue
    with st.container(horizontal=True, gap="small"):
        for side in issue.sides:
            st.badge(side, color="orange")
        st.badge(f"match: {answer.match}", color="gray")
    st.markdown(pickers.plain(issue.cause))
    st.markdown(
        "**What to do**\n\n" + "\n".join(f"1. {pickers.plain(step)}" for step in found.steps_for(issue))
    )
    reasons = "\n".join(f"- {pickers.plain(reason.words)}" for reason in answer.reasons)
    st.markdown(f"**Why this**\n\n{reasons}")
    _sources(issue)


def _sources(issue: Issue) -> None:
    affected = "; ".join(f"{program} {one.text}" for program, one in issue.affected.items())
    where = f"Reported for {affected}." if affected else "Reported for all versions, as far as known."
    st.caption(pickers.plain(f"Known issue {issue.id}. {where} {issue.basis}"))
    if issue.links:
        st.caption(" · ".join(f"[{link.removeprefix('https://')}]({link})" for link in issue.links))


def found_here(found: Diagnosis) -> None:
    """The failures of a text or the findings of a capture, with the entry that each leads to."""
    if found.is_log or not found.failures:
        return
    st.markdown("**Findings**")
    for failure in found.failures[:_FOUND_SHOWN]:
        where = "" if failure.first_line is None else f"line {failure.first_line:,}, "
        leads = f"known issue: {failure.answers[0].issue.id}" if failure.answers else "unknown"
        st.markdown(pickers.plain(failure.message))
        st.caption(pickers.plain(f"{where}{leads}"))
    if len(found.failures) > _FOUND_SHOWN:
        st.caption(f"The download contains {len(found.failures) - _FOUND_SHOWN:,} more.")


def failures(found: Diagnosis) -> None:
    """The failures of a log by message; the chosen one shows the lines around its first occurrences."""
    if not found.is_log or not found.failures:
        return
    st.markdown("**Failures by message**")
    chosen = st.dataframe(
        pd.DataFrame([_failure_row(failure) for failure in found.failures]),
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        key="diagnose_failures",
        column_config={
            "times": st.column_config.NumberColumn(format="localized", width=60),
            "share": st.column_config.NumberColumn("of requests", format="percent", width=90),
            "message": st.column_config.TextColumn(width=560),
            "known issue": st.column_config.TextColumn(width=230),
        },
        alt="Failures by message, with the known issue of each",
    )
    rows = chosen["selection"]["rows"]
    if rows and rows[0] < len(found.failures):
        _lines(found.failures[rows[0]], _OCCURRENCES)
    elif found.failures[0].around:
        st.caption("Select a row to see the lines around another message.")
        _lines(found.failures[0], 1)


def judges(found: Diagnosis) -> None:
    """The results of strict and lenient parsing for rejected tokens."""
    if found.parser_results:
        st.markdown("**Results of other parsers for the same tokens**")
        st.markdown("\n".join(f"- {pickers.plain(one.sentence)}" for one in found.parser_results))


def _failure_row(failure: Failure) -> dict[str, object]:
    return {
        "times": failure.count,
        "share": failure.share,
        "message": failure.message,
        "known issue": failure.answers[0].issue.id if failure.answers else "unknown",
    }


def _lines(failure: Failure, at_most: int) -> None:
    for number, lines in enumerate(failure.around[:at_most], 1):
        said = pickers.plain(f"Lines around “{failure.message}”, occurrence {number} of {failure.count:,}")
        st.caption(said)
        st.code("\n".join(lines), language=None, wrap_lines=True)


def over_time(found: Diagnosis) -> None:
    """Failures and requests of a log by time: a plot, and the same as a table."""
    if not found.is_log or not found.failures:
        return
    st.markdown("**Over time**")
    rows = pd.DataFrame([count._asdict() for count in found.timeline])
    theme = "dark" if st.context.theme.type == "dark" else "light"
    st.plotly_chart(_plot(rows, found, theme), key="diagnose_plot", alt="Failures by time and message")
    with st.expander("As a table"):
        st.dataframe(rows, hide_index=True, key="diagnose_counts", alt="Failures and requests by time")


def _plot(rows: pd.DataFrame, found: Diagnosis, theme: str) -> go.Figure:
    figure = go.Figure()
    named = [failure.message for failure in found.failures[:_MESSAGES_PLOTTED]]
    wrong = rows[rows["name"] != "requests"]
    shown = wrong.assign(name=wrong["name"].where(wrong["name"].isin(named), _OTHERS))
    sums = shown.groupby(["name", "time"], as_index=False)["times"].sum()
    for hue, name in zip(series(theme), [*named, _OTHERS], strict=False):
        one = sums[sums["name"] == name]
        if not one.empty:
            label = dashboard.clip(name, 48)
            figure.add_bar(x=one["time"], y=one["times"], name=_safe(label), marker_color=hue)
    asked_for = rows[rows["name"] == "requests"].groupby("time", as_index=False)["times"].sum()
    if not asked_for.empty:
        figure.add_scatter(
            x=asked_for["time"], y=asked_for["times"], name="requests", mode="lines+markers", line_dash="dot"
        )
    if shown["time"].nunique() <= _FEW_TIMES:
        figure.update_traces(width=0.3, selector={"type": "bar"})
    figure.update_xaxes(type="category", categoryorder="category ascending", title_text="time in the log")
    figure.update_yaxes(title_text="times", rangemode="tozero")
    figure.update_layout(
        barmode="stack",
        height=340,
        margin={"l": 8, "r": 8, "t": 24, "b": 8},
        legend={"orientation": "h", "y": -0.3, "x": 0},
    )
    return figure


def _safe(text: str) -> str:
    """Text for a plot's legend, where Plotly would read some HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def download(session: Session, found: Diagnosis) -> None:
    """Everything, as `diagnose --json` prints it; reports where it started from a capture."""
    row = dashboard.diagnosis_row("dashboard", found)
    content = json.dumps(row, indent=2) + "\n"
    name = f"diagnosis-{hashlib.sha256(content.encode()).hexdigest()[:8]}.json"
    one = captures.chosen(session) if st.session_state.get("diagnose_kind") == "Capture" else None
    if one is None:
        st.download_button("Download as JSON", content, name, "application/json", on_click="ignore")
        return
    with st.popover("Download", icon=":material/download:", width="content"):
        st.download_button(
            "Report (HTML)",
            lambda: pickers.report_page(one.seen),
            "report.html",
            "text/html",
            on_click="ignore",
            type="tertiary",
        )
        st.download_button(
            "Bug report (Markdown)",
            lambda: pickers.bug_report(one.seen),
            "bug-report.md",
            "text/markdown",
            on_click="ignore",
            type="tertiary",
        )
        st.download_button(
            "Diagnosis (JSON)", content, name, "application/json", on_click="ignore", type="tertiary"
        )
        st.caption(pickers.REPORT_WARNING)
