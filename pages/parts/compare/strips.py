"""The tokens and prompts of both sides."""

from typing import Final, NamedTuple

import streamlit as st

from inspector import Comparison
from inspector.net.runs.run import LiveRun
from inspector.views.strip import empty_strip
from inspector.views.strip.comparison import ComparedRow, comparison_strip
from pages.parts.compare.sides import both_sides, label
from pages.parts.live.run_view import feed_address
from pages.ui import captures
from pages.ui.banner import banner
from pages.ui.captures import Chosen
from pages.ui.pickers import plain
from pages.ui.prompt import two_prompts
from pages.ui.state import Selection, Session
from pages.ui.strip import Payload, RawEvent, pack, raw_events, strip

_FOLDS_FROM: Final = 200
"""Tokens from which folding is offered."""


class _Row(NamedTuple):
    """The common row of both sides."""

    payload: Payload
    first: Selection
    """The first difference."""
    hidden: int
    """Folded tokens."""
    compared: ComparedRow


def tokens(session: Session, left: Chosen, right: Chosen, comparison: Comparison) -> None:
    """One row over two ribbons; a strip for each side where tokens are unknown."""
    key = f"{left.digest} {right.digest}"
    row = _row(key, comparison, folded=False)
    if row is not None:
        short = _row(f"{key} folded", comparison, folded=True)
        if short is not None and short.hidden >= _FOLDS_FROM:
            words = f"Collapse {short.hidden:,} equal tokens far from any difference"
            if st.toggle(
                words, key="compare_fold", help="Token numbers then count only the tokens that are shown."
            ):
                row = short
        _strip(session, "compare", row.payload, row.first)
        _raw(session, comparison, row)
        return
    for side, side_capture in (("left", left), ("right", right)):
        st.caption(label(side_capture.inspection, side))
        _strip(
            session,
            f"compare_{side}",
            captures.payload(side_capture.digest, 0, side_capture.inspection),
            Selection(),
        )


def _raw(session: Session, comparison: Comparison, row: _Row) -> None:
    """The events that brought the chosen token on both sides."""
    cell = session.strip_of("compare").selection.token
    tokens = (None, None) if cell is None else row.compared.tokens_at(cell)
    events = []
    for (side, inspection), token in zip(both_sides(comparison), tokens, strict=True):
        choice = next(
            candidate
            for candidate in inspection.reading.choices
            if candidate.index == comparison.choice.index
        )
        event = -1 if token is None else choice.tokens.events[token]
        text = inspection.reading.events[event].data if event >= 0 else ""
        events.append(RawEvent(side=side, event=event if event >= 0 else None, text=text))
    raw_events(row.payload, cell, events, key="compare_raw")


def growing(session: Session, run: LiveRun, side: str) -> None:
    """A run of one side while its tokens arrive."""
    st.caption(f"{side}: {plain(run.header.model or 'model unknown')} at {plain(run.address)}")
    payload = pack(empty_strip(run.id), digest=run.id)
    strip(payload, session.strip_of(f"compare_{side}"), key=f"compare_{side}_strip", feed=feed_address(run))


def side_strip(session: Session, side_capture: Chosen, side: str) -> None:
    """The response of one side, if there is nothing to compare it with."""
    banner(captures.result(side_capture.digest, 0, side_capture.inspection), key="compare_one")
    _strip(
        session,
        f"compare_{side}",
        captures.payload(side_capture.digest, 0, side_capture.inspection),
        Selection(),
    )


def _strip(session: Session, page: str, payload: Payload, first: Selection) -> None:
    view = session.strip_of(page)
    if view.capture != payload.key:
        view.choose(payload.key)
    view.navigate_first(first)
    strip(payload, view, key=f"{page}_strip")


@st.cache_resource(max_entries=16, show_spinner=False)
def _row(digest: str, _comparison: Comparison, *, folded: bool) -> _Row | None:
    compared = comparison_strip(_comparison, key=digest, choice=_comparison.choice.index, folded=folded)
    if compared is None or not compared.payload["count"]:
        return None
    payload = compared.payload
    first = payload["findings"][0]["cell_start"] if payload["findings"] else None
    selection = Selection(first, 0 if payload["findings"] else None)
    return _Row(pack(payload, digest=digest), selection, payload["hidden"], compared)


def prompts(left: Chosen, right: Chosen, comparison: Comparison) -> None:
    """Both prompts, collapsed, where their tokens are known."""
    left_prompt, right_prompt = (
        captures.result(side_capture.digest, 0, side_capture.inspection).prompt
        for side_capture in (left, right)
    )
    if left_prompt is not None and right_prompt is not None:
        two_prompts(left_prompt, right_prompt, comparison.prompt, key="compare_prompts")
