"""The two sides of a comparison: which captures, and how they are named."""

from collections.abc import Sequence
from typing import Final

import streamlit as st

import inspector
from inspector import Comparison, Inspection
from inspector.capture.replay_only import replay_only
from pages.ui import captures, opening, pickers
from pages.ui.captures import Chosen
from pages.ui.state import Session, went_back

_SIDES: Final = ("left", "right")
_FIRST: Final = ("chat-tool-call-dropped-vllm-0.13.0", "chat-tool-call-leak-vllm-0.14.1")
"""The pair that the page opens with: one script on two versions."""
_CAPTURES: Final = "Two captures"
_SERVERS: Final = "Ask two servers"


def from_servers() -> bool:
    """True to send requests to two servers, False to compare existing captures."""
    if replay_only():
        return False
    if "compare_from" not in st.session_state:
        st.session_state["compare_from"] = _SERVERS if "trial" in st.query_params else _CAPTURES
    kind = st.segmented_control(
        "Compare",
        [_CAPTURES, _SERVERS],
        required=True,
        key="compare_from",
        label_visibility="collapsed",
    )
    return kind == _SERVERS


def receive(session: Session, names: Sequence[str]) -> None:
    """Make captures just uploaded the sides: two become left and right, one takes the next free side."""
    if not names:
        return
    st.session_state["compare_from"] = _CAPTURES
    if len(names) > 1:
        st.session_state["compare_left"], st.session_state["compare_right"] = names[:2]
        return
    # The left side is the reference: once it is an upload it stays, and later files take the right side.
    left_chosen = st.session_state.get("compare_left") in session.opened
    st.session_state["compare_right" if left_chosen else "compare_left"] = names[0]


def pick(session: Session) -> tuple[Chosen | None, Chosen | None]:
    """Pickers of both sides; kept in the URL."""
    names = captures.names(session)
    query = st.query_params
    pair: list[Chosen | None] = []
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="compare_pickers")
    for side, first in zip(_SIDES, _FIRST, strict=True):
        linked = query.get(side, first)
        if linked in names and went_back():
            st.session_state[f"compare_{side}"] = linked
        with row:
            name = pickers.select(
                session,
                f"{side.capitalize()}{' (reference)' if side == 'left' else ''}",
                names,
                # A link to a capture that is not here must not show another one in its place.
                index=names.index(linked) if linked in names else 0 if names and side not in query else None,
                key=f"compare_{side}",
            )
        if name is None and side in query:
            st.warning(
                pickers.plain(f"Capture {linked} not found: open its file, or select another capture."),
                icon=":material/link_off:",
            )
        if side == "left":
            row.button(
                "Swap", icon=":material/swap_horiz:", on_click=_swap, key="compare_swap", width="content"
            )
        pair.append(None if name is None else captures.chosen(session, name))
    with row:
        opening.button("compare")
    address = {
        side: query.get(side) if side_capture is None else side_capture.name
        for side, side_capture in zip(_SIDES, pair, strict=True)
    }
    session.address({side: name for side, name in address.items() if name})
    if None in pair:
        st.info("Open, drop or paste two captures, or select them above.", icon=":material/upload_file:")
    return pair[0], pair[1]


def _swap() -> None:
    left, right = (st.session_state.get(f"compare_{side}") for side in _SIDES)
    st.session_state["compare_left"], st.session_state["compare_right"] = right, left


def compared(left: Chosen, right: Chosen) -> Comparison:
    """The comparison of two captures, cached by their content."""
    return _compared(f"{left.digest} {right.digest}", left, right)


@st.cache_resource(max_entries=16, show_spinner="Comparing")
def _compared(digest: str, _left: Chosen, _right: Chosen) -> Comparison:
    del digest
    return inspector.compare(_left.inspection, _right.inspection)


def both_sides(comparison: Comparison) -> tuple[tuple[str, Inspection], tuple[str, Inspection]]:
    """The name and the capture of each side."""
    return ("left", comparison.left), ("right", comparison.right)


def label(inspection: Inspection, side: str) -> str:
    """A side with its server."""
    return f"{side}: {inspection.reading.server_label}"
