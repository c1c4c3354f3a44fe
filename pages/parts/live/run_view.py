"""One run on the page: its state, metrics, the growing strip, messages, delivered text and the verdict."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

import streamlit as st

import inspector
from inspector import Inspection, Level
from inspector.capture.formats import number, plural
from inspector.net.client.outcome import OutcomeKind
from inspector.net.runs.feed import pace_row
from inspector.net.runs.registry import registry
from inspector.net.runs.run import LiveRun, RunState
from inspector.views.audit_result import AuditResult
from inspector.views.strip import empty_strip
from inspector.views.strip import strip as strip_payload
from inspector.views.strip.growth import stream_position
from inspector.views.summary import Fix, fixes
from pages.parts.live import form_state
from pages.parts.live.request_form import key_rejected
from pages.parts.live.runs import open_in_compare, open_in_replay, watch
from pages.ui.assets import inline
from pages.ui.banner import banner, follow, sentence_banner
from pages.ui.fields import field_words
from pages.ui.modules import loader
from pages.ui.palette import stylesheet
from pages.ui.pickers import plain
from pages.ui.state import Session
from pages.ui.strip import Payload, pack, strip

_EACH_S: Final = 1.0
_SILENT_S: Final = 3.0
_QUOTED: Final = frozenset({OutcomeKind.REQUEST_REJECTED, OutcomeKind.STREAM_ERROR})
"""Failures that are only the server's message, which the verdict quotes."""

_now = st.components.v2.component(
    "inspector_now",
    html='<div class="now"></div>',
    css=stylesheet() + inline("live/live.css"),
    js=loader("parts/live/live.js"),
)


def growing(session: Session, run: LiveRun, *, ended: bool) -> None:
    """Draw a run, growing or ended: one line, the picture, the fields of the client and the verdict."""
    with st.container(key="live_head"):
        if ended:
            _actions(session, run)
        else:
            st.fragment(_head, run_every=_EACH_S)(run)
    payload = _whole(run) if ended else pack(empty_strip(run.id), digest=run.id)
    if not ended or payload.cells:
        strip(
            payload,
            session.strip_of("live"),
            key="live_strip",
            feed=None if ended else feed_address(run),
            live=True,
        )
        with st.container(key="live_fields"):
            if ended:
                _text(run)
            else:
                st.fragment(_text, run_every=_EACH_S)(run)
    with st.container(key="live_verdict"):
        if ended:
            _ended(session, run)
        else:
            st.fragment(_found, run_every=_EACH_S)(run)


def feed_address(run: LiveRun) -> str:
    """Where the browser reads the run's increments, relative to the page."""
    return f"inspector/runs/{run.id}/feed"


def _head(run: LiveRun) -> None:
    """State and metrics; the feed updates them between runs of this fragment; the page reruns at the end."""
    if run.state is RunState.ENDED:
        st.rerun()
    with run.lock:
        now = stream_position(run.live().choice, len(run.events))
    _now(
        key="live_now",
        data={
            "head": {
                "feed": feed_address(run),
                "sent": run.state is RunState.WAITING,
                "silence": _silence_words(run),
                "now": now,
                "pace": pace_row(run.pace()),
            }
        },
    )


def _found(run: LiveRun) -> None:
    """The error that an audit of the run so far found, and its fix; a warning may still become an error."""
    examined = None if run.look is None else run.look.examined
    if examined is not None and examined.verdict.level is Level.ERROR:
        wanted = sentence_banner(
            examined.verdict.level,
            f"So far: {examined.verdict.sentence}",
            examined.verdict.why,
            (),
            key="live_so_far",
            blame=examined.verdict.blame,
            fixes=[
                fix
                for fix in fixes(examined)
                if not (fix.folded or fix.command or (fix.url or "").startswith("https:"))
            ],
            decided=examined.cause is None or not examined.cause.alternatives,
        )
        follow(wanted)
    _troubles(run)


def _silence_words(run: LiveRun) -> str:
    """The time since the request while nothing came, later since the last event, after `_SILENT_S`."""
    silence_s = run.silence_s()
    if run.state is RunState.WAITING:
        return f"sent {silence_s:.0f} s ago"
    if silence_s < _SILENT_S:
        return ""
    return f"last {'token' if run.pace().tokens else 'event'} {silence_s:.0f} s ago"


def _text(run: LiveRun) -> None:
    _now(key="live_text", data={"fields": _fields(run)})


def _ended(session: Session, run: LiveRun) -> None:
    result = _result_of(run)
    rejected = run.outcome.kind is OutcomeKind.REQUEST_REJECTED
    if _stopped(run):
        amount = len(result.choice.tokens)
        after = f" after {number(amount)} {plural(amount, 'token')}" if amount else ""
        st.info(f"Stopped by you{after}.", icon=":material/stop_circle:")
    elif run.outcome.failed and not (
        key_rejected(run) or (run.outcome.kind in _QUOTED and result.level is Level.ERROR)
    ):
        st.error(plain(run.outcome.failure), icon=":material/link_off:")
    banner(result, key="live_banner", session=session, otherwise=_unknown_rejection(run) if rejected else ())
    _troubles(run)
    if run.path is not None and not run.trouble:
        st.caption(f"Saved as {plain(str(run.path))}")
    _pair(run)


def _unknown_rejection(run: LiveRun) -> Sequence[Fix]:
    """What to do about a rejected request that no known issue explains."""
    return [
        Fix(text="Change the request in the line above, or look the message up in"),
        Fix(text="Diagnose", url=f"diagnose?capture={run.id}.jsonl"),
    ]


def _actions(session: Session, run: LiveRun) -> None:
    """What can be done with a run that has ended, in the place of its state."""
    with st.container(horizontal=True):
        if st.button("Open in Replay", icon=":material/play_circle:", key="live_open"):
            open_in_replay(session, run)
        if run.again is not None and st.button("Ask again", icon=":material/replay:", key="live_again"):
            again = run.again()
            form_state.keep_for(session, again.id)
            watch(session, again.id)
            st.rerun()
        truth = _truth(run)
        if truth is not None and st.button(
            "Compare with the ground truth", icon=":material/compare_arrows:", key="live_compare"
        ):
            open_in_compare(session, run, truth)


def _stopped(run: LiveRun) -> bool:
    return run.outcome.kind is OutcomeKind.STOPPED_BY_USER


def _truth(run: LiveRun) -> LiveRun | None:
    """The run with the ground truth of this one, once it has ended without a failure."""
    pair = registry().get(run.pair) if run.pair else None
    ended = pair is not None and pair.state is RunState.ENDED and not pair.outcome.failed
    return pair if ended else None


def _pair(run: LiveRun) -> None:
    """Ground truth of the same request, once both have ended."""
    truth_run = registry().get(run.pair) if run.pair else None
    if truth_run is None:
        return
    if truth_run.state is not RunState.ENDED:
        st.fragment(_awaited, run_every=_EACH_S)(truth_run)
        return
    ids, truth = run.reading().choice.tokens.ids, truth_run.reading().choice.tokens.ids
    if truth_run.outcome.failed:
        st.warning(plain(f"The ground truth failed: {truth_run.outcome.failure}"))
    elif not ids:
        if not _result_of(run).inspection.reading.foreign:  # else the verdict says that nothing was checked
            st.info("This stream has no token IDs; it was checked against those of the ground truth run.")
    elif ids == truth:
        st.success(f"Ground truth: completions sampled the same {len(truth):,} tokens.")
    else:
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ids, truth, strict=False)))
        st.warning(
            f"Ground truth: completions sampled different tokens from token {same:,} on, "
            "so the two streams cannot be compared."
        )


def _awaited(truth: LiveRun) -> None:
    """Rerun the page once the ground truth has ended."""
    if truth.state is RunState.ENDED:
        st.rerun()
    st.caption("The ground truth of the same prompt is still running; see the recent runs.")


def _troubles(run: LiveRun) -> None:
    if run.trouble:
        st.warning(plain(f"{run.trouble}. The run is only in memory: open it in Replay to download it."))
    for note in run.outcome.notes:
        st.caption(plain(note))


def _result_of(run: LiveRun) -> AuditResult:
    pair = registry().get(run.pair) if run.pair else None
    truth = None
    if pair is not None and pair.state is RunState.ENDED and not run.reading().choice.has_ids:
        truth = tuple(pair.reading().choice.tokens.ids) or None
    return _inspected(f"{run.id} {truth is not None}", run.id, run, truth)


@st.cache_resource(max_entries=16, show_spinner=False)
def _inspected(digest: str, name: str, _run: LiveRun, _truth: tuple[int, ...] | None) -> AuditResult:
    del digest
    return AuditResult(inspector.inspect(_run.capture(), name=name, truth=_truth))


def _whole(run: LiveRun) -> Payload:
    result = _result_of(run)
    return _packed(f"{run.id} ended {result.choice.evidence}", run.id, result.inspection)


@st.cache_resource(max_entries=16, show_spinner=False)
def _packed(digest: str, key: str, _inspection: Inspection) -> Payload:
    """The complete strip under the key of the growing one, so that the view keeps its position."""
    return pack(strip_payload(_inspection, key=key), digest=digest)


def _fields(run: LiveRun) -> list[tuple[str, str, int]]:
    """Label, end and length of each field with delivered text, named as in the picture."""
    texts = {text.field: text for text in run.texts() if text.length}
    rows = []
    for field, text in texts.items():
        call, dot, part = field.rpartition(".")
        name = texts.get(f"{call}.name")
        if dot and part == "arguments" and name is not None:
            rows.append((f"{name.tail}(…)", text.tail, text.length))
        elif text is not name:
            rows.append(
                ("answer" if field == "content" else " ".join(field_words(field)), text.tail, text.length)
            )
        elif f"{call}.arguments" not in texts:
            rows.append((f"{name.tail}(…)", "", 0))
    return rows
