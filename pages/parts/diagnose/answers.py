"""The verdict of a diagnosis, the known issues that match, and the downloads."""

import hashlib
import json
from collections.abc import Sequence
from typing import Final, assert_never

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from inspector import Diagnosis, Level
from inspector.capture.formats import number, plural
from inspector.issues import Advice, DiagnosisOutcome, Issue, Route, diagnosis_row
from inspector.issues.catalogue.commands import explained
from inspector.issues.catalogue.issue import Confidence
from inspector.matrix.scripts import ScriptClass
from inspector.views.summary import Fix, advice_fixes
from pages.ui import captures, downloads, pickers
from pages.ui.state import Session

_OPEN: Final = 1
_AT_MOST: Final = 6


def level(diagnosis: Diagnosis) -> Level:
    """The colour of the verdict: clean only with evidence, not because nothing matched."""
    match diagnosis.outcome:
        case DiagnosisOutcome.KNOWN:
            return Level.ERROR
        case DiagnosisOutcome.ROUTED:
            return Level.WARNING
        case DiagnosisOutcome.UNKNOWN:
            return Level.UNKNOWN
        case DiagnosisOutcome.NOTHING:
            return Level.CLEAN if diagnosis.proven else Level.UNKNOWN
        case _:
            assert_never(diagnosis.outcome)


def why(diagnosis: Diagnosis) -> str:
    """One line under the sentence where no fix is known: what to do, or to give."""
    if diagnosis.asks_for_log:
        return f"{diagnosis.paste_next}."
    if diagnosis.advice:
        return ""
    return diagnosis.next_step or "No known issue matches this capture."


def fix(diagnosis: Diagnosis) -> list[Fix]:
    """The first step of the first issue, and what helps until then, as Replay has it."""
    if not diagnosis.advice:
        return []
    return [part for part in advice_fixes(diagnosis.advice[0], diagnosis.situation) if not part.folded]


def decided(diagnosis: Diagnosis) -> bool:
    """Whether it is sure that the first issue is what happened here."""
    return all(advice.answer.match is Confidence.HIGH for advice in diagnosis.advice[:1])


def links(diagnosis: Diagnosis, capture: str | None) -> None:
    """Where the evidence is: the capture's picture, and the row of the matrix."""
    measured = diagnosis.measured
    with st.container(horizontal=True, key="diagnose_links"):
        if capture is not None:
            st.page_link(
                "replay.py",
                label="Open in Replay",
                icon=":material/play_circle:",
                query_params={"capture": capture},
            )
        if measured is not None:
            st.page_link(
                "matrix.py",
                label=f"The {measured.scripts} scripts in the Matrix",
                icon=":material/grid_on:",
                query_params={
                    "endpoint": measured.endpoint.value,
                    "class": ScriptClass.CALLS.value,
                    "release": measured.release,
                },
            )


def facts(diagnosis: Diagnosis) -> list[tuple[str, str, str]]:
    """Facts for the row of chips: words before, the value, words after."""
    versions = list(dict.fromkeys((version.version, version.source) for version in diagnosis.versions))[:3]
    rows = [(diagnosis.server, version, f"by {source}") for version, source in versions]
    rows = rows or [(f"{diagnosis.server} version", "unknown", "")]
    if diagnosis.is_log:
        rows.append(("", f"{diagnosis.lines:,}", "lines"))
        rows += [("", f"{count:,}", path) for path, count in sorted(diagnosis.requests.items())]
    if not (count := len(diagnosis.failures)):
        return rows
    what = "failure message" if diagnosis.lines else "finding"
    rows.append(("", number(count), plural(count, what)))
    return rows


def columns(
    diagnosis: Diagnosis,
) -> tuple[DeltaGenerator, DeltaGenerator]:
    """The places of the answers and of the findings: side by side, for a log one below the other."""
    if diagnosis.is_log:
        return st.container(), st.container()
    left, right = st.columns([3, 2], gap="medium")
    return left, right


def ask_for_log(diagnosis: Diagnosis) -> None:
    """Where the server's log would say more: a button that turns to it."""
    if diagnosis.asks_for_log:
        st.button(
            "Open the log", icon=":material/upload_file:", key="diagnose_ask_log", on_click=_turn_to_log
        )


def _turn_to_log() -> None:
    st.session_state["diagnose_kind"] = "Log"


def answers(diagnosis: Diagnosis) -> None:
    """The likeliest issues, the first one open; for a text of another program, where to report it."""
    if diagnosis.route is not None:
        _route(diagnosis.route)
    for place, advice in enumerate(diagnosis.advice[:_AT_MOST]):
        title = f"{place + 1}. {pickers.plain(advice.issue.title)}"
        settle = _settling(diagnosis, advice)
        with st.expander(title, expanded=place < _OPEN or (bool(settle) and diagnosis.situation.captured)):
            _issue(advice, settle=settle)
    if len(diagnosis.answers) > _AT_MOST:
        st.caption(f"The download also contains {len(diagnosis.answers) - _AT_MOST} less likely issues.")


def _settling(diagnosis: Diagnosis, advice: Advice) -> str:
    """What tells an issue from the others; a capture needs no other one, only what changes the request."""
    if len(diagnosis.advice) == 1 or (diagnosis.situation.captured and not advice.issue.experiment):
        return ""
    return advice.settle


def _route(route: Route) -> None:
    st.markdown("**What to do**\n\n" + "\n".join(f"1. {pickers.plain(step)}" for step in route.steps))
    if route.links:
        st.caption(" · ".join(f"[{link.removeprefix('https://')}]({link})" for link in route.links))


def closest(diagnosis: Diagnosis) -> None:
    """If no message is known: entries in similar words, each with the command that decides it."""
    if not diagnosis.closest:
        return
    st.markdown("**Closest known issues**")
    st.caption("No match: these issues only use similar words. The command shows whether one is the cause.")
    for rank, issue in enumerate(diagnosis.closest):
        with st.expander(pickers.plain(issue.title), expanded=rank == 0):
            st.markdown(pickers.plain(issue.cause))
            _settle(diagnosis.settles(issue))
            _sources(issue, diagnosis.links_for(issue))


def _settle(text: str) -> None:
    """What shows whether it is this issue: a command with what its output means, or a sentence."""
    command, meaning = explained(text)
    st.markdown("**To settle it**")
    if meaning:
        st.code(command, language=None, wrap_lines=True)
        st.caption(_sentence(meaning))
    else:
        st.markdown(_sentence(command))


def _sentence(words: str) -> str:
    return pickers.plain(f"{words[:1].upper()}{words[1:].rstrip('.')}.")


def _issue(advice: Advice, *, settle: str) -> None:
    issue, answer = advice.issue, advice.answer
    with st.container(horizontal=True, gap="small"):
        for side in issue.sides:
            st.badge(side, color="orange")
        st.badge(f"match: {answer.match}", color="gray")
    st.markdown(pickers.plain(issue.cause))
    st.markdown("**What to do**\n\n" + "\n".join(f"1. {pickers.plain(step.text)}" for step in advice.steps))
    reasons = "\n".join(f"- {pickers.plain(reason.words)}" for reason in answer.reasons)
    st.markdown(f"**Why this**\n\n{reasons}")
    if settle:
        _settle(settle)
    _sources(issue, advice.links)


def _sources(issue: Issue, links: Sequence[str]) -> None:
    affected = "; ".join(f"{program} {versions.text}" for program, versions in issue.affected.items())
    where = f"Reported for {affected}." if affected else "Reported for all versions, as far as known."
    st.caption(pickers.plain(f"Known issue {issue.id}. {where} {issue.basis}"))
    if links:
        st.caption(" · ".join(f"[{link.removeprefix('https://')}]({link})" for link in links))


def chosen_capture(session: Session) -> str | None:
    """The name of the capture that is diagnosed; None for a text or a log."""
    return session.capture if st.session_state.get("diagnose_kind") == "Capture" else None


def download(session: Session, diagnosis: Diagnosis) -> None:
    """What `diagnose --json` prints; for a capture its reports too."""
    content = json.dumps(diagnosis_row("dashboard", diagnosis), indent=2) + "\n"
    name = f"diagnosis-{hashlib.sha256(content.encode()).hexdigest()[:8]}.json"
    capture = captures.chosen(session) if chosen_capture(session) is not None else None
    if capture is None:
        st.download_button("Download as JSON", content, name, "application/json", on_click="ignore")
        return
    reports = downloads.reports(capture.inspection, page="report.html", bug_report="bug-report.md")
    row = downloads.Download("Diagnosis (JSON)", name, "application/json", lambda: content)
    downloads.menu([*reports, row], key="diagnose_download", caption=downloads.REPORT_WARNING)
