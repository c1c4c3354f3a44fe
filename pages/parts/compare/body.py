"""Two captures on a page: which ones, what differs, where, and the time that each took."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import pandas as pd
import streamlit as st

import inspector
from inspector import Comparison, Inspection, dashboard
from inspector.dashboard import ComparedRow
from pages.ui import captures, pickers
from pages.ui.banner import banner
from pages.ui.captures import Chosen
from pages.ui.charts import both_over_time
from pages.ui.fields import field_words, fields, sides
from pages.ui.prompt import two_prompts
from pages.ui.state import Place, Session, went_back
from pages.ui.strip import Payload, RawEvent, pack, raw_events, strip

_SIDES: Final = ("left", "right")
_FIRST: Final = ("chat-tool-call-dropped-vllm-0.13.0", "chat-tool-call-leak-vllm-0.14.1")
"""The pair that the page opens with: one script on two versions."""
_FOLDS_FROM: Final = 200
"""Tokens from which folding is offered."""
_CAPTURES: Final = "Two captures"
_SERVERS: Final = "Ask two servers"


def from_servers() -> bool:
    """True to send requests to two servers, False to compare existing captures."""
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
    """Captures just uploaded become the sides: two left and right, a single one the next free side."""
    if not names:
        return
    st.session_state["compare_from"] = _CAPTURES
    if len(names) > 1:
        st.session_state["compare_left"], st.session_state["compare_right"] = names[:2]
        return
    # The left side is the reference: once it is an upload it stays, and later files take the right side.
    taken = st.session_state.get("compare_left") in session.opened
    st.session_state["compare_right" if taken else "compare_left"] = names[0]


def pick(session: Session) -> tuple[Chosen | None, Chosen | None]:
    """Pickers of both sides; kept in the URL."""
    known = captures.names(session)
    kept = st.query_params
    found: list[Chosen | None] = []
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="compare_pickers")
    for side, first in zip(_SIDES, _FIRST, strict=True):
        asked = kept.get(side, first)
        if asked in known and went_back():
            st.session_state[f"compare_{side}"] = asked
        name = row.selectbox(
            f"{side.capitalize()}{' (reference)' if side == 'left' else ''}",
            known,
            # A link to a capture that is not here must not show another one in its place.
            index=known.index(asked) if asked in known else 0 if known and side not in kept else None,
            format_func=captures.labels(session),
            placeholder="Select a capture",
            key=f"compare_{side}",
        )
        if name is None and side in kept:
            st.warning(
                pickers.plain(
                    f"Capture {asked} not found: open its file in the sidebar, or select another capture."
                ),
                icon=":material/link_off:",
            )
        if side == "left":
            row.button(
                "Swap", icon=":material/swap_horiz:", on_click=_swap, key="compare_swap", width="content"
            )
        found.append(None if name is None else captures.chosen(session, name))
    wanted = {
        side: kept.get(side) if one is None else one.name for side, one in zip(_SIDES, found, strict=True)
    }
    session.address({side: name for side, name in wanted.items() if name})
    if None in found:
        st.info("Open two captures in the sidebar, or select them above.", icon=":material/upload_file:")
    return found[0], found[1]


def _swap() -> None:
    left, right = (st.session_state.get(f"compare_{side}") for side in _SIDES)
    st.session_state["compare_left"], st.session_state["compare_right"] = right, left


class _Row(NamedTuple):
    """The common row of both sides."""

    payload: Payload
    first: Place
    """Where to begin: at the first difference."""
    hidden: int
    """Tokens that are folded away."""
    made: ComparedRow


def compared(left: Chosen, right: Chosen) -> Comparison:
    """The comparison of two captures, made once for their content."""
    return _compared(f"{left.digest} {right.digest}", left, right)


@st.cache_resource(max_entries=16, show_spinner="Comparing")
def _compared(digest: str, _left: Chosen, _right: Chosen) -> Comparison:
    del digest
    return inspector.compare(_left.seen, _right.seen)


def facts(found: Comparison) -> list[tuple[str, str, str]]:
    """Facts for the row of chips: words before, the value, words after."""
    counts = found.counts
    told = [(side, one.reading.server_label, "") for side, one in _sides(found)]
    if counts is not None:
        told.append(("", f"{counts.equal:,}", f"equal {dashboard.plural(counts.equal, 'token')}"))
        told += [
            ("", f"{count:,}", f"{dashboard.plural(count, 'token')} {words}")
            for count, words in (
                (counts.only_left, "only left"),
                (counts.only_right, "only right"),
                (counts.replaced, "replaced"),
            )
            if count
        ]
    if (place := found.divergence) is not None:
        told.append(("first divergence at token", f"{place.token:,}", ""))
    findings = found.findings
    sides = (
        (findings.only_left, "only left"),
        (findings.only_right, "only right"),
        (findings.both, "on both sides"),
    )
    told += [
        ("", f"{len(some):,}", f"{dashboard.plural(len(some), 'finding')} {words}")
        for some, words in sides
        if some
    ]
    if not any(some for some, _ in sides):
        told.append(("", "0", "findings"))
    return told


def tokens(session: Session, left: Chosen, right: Chosen, found: Comparison) -> None:
    """One row over two ribbons; a strip for each side where tokens are unknown."""
    key = f"{left.digest} {right.digest}"
    made = _row(key, found, folded=False)
    if made is not None:
        short = _row(f"{key} folded", found, folded=True)
        if short is not None and short.hidden >= _FOLDS_FROM:
            label = f"Collapse {short.hidden:,} equal tokens far from any difference"
            if st.toggle(
                label, key="compare_fold", help="Token numbers then count only the tokens that are shown."
            ):
                made = short
        _strip(session, "compare", made.payload, made.first)
        _raw(session, found, made)
        return
    for side, one in (("left", left), ("right", right)):
        st.caption(_label(one.seen, side))
        _strip(session, f"compare_{side}", captures.payload(one.digest, 0, one.seen), Place())


def _raw(session: Session, found: Comparison, made: _Row) -> None:
    """The events that brought the chosen token on both sides."""
    cell = session.strip_of("compare").place.token
    tokens = (None, None) if cell is None else made.made.tokens_at(cell)
    told = []
    for (side, one), token in zip(_sides(found), tokens, strict=True):
        choice = next(mine for mine in one.reading.choices if mine.index == found.choice.index)
        event = -1 if token is None else choice.tokens.events[token]
        text = one.reading.events[event].data if event >= 0 else ""
        told.append(RawEvent(side=side, event=event if event >= 0 else None, text=text))
    raw_events(made.payload, cell, told, key="compare_raw")


def one_side(session: Session, one: Chosen, side: str) -> None:
    """The response of one side, if there is nothing to compare it with."""
    banner(one.seen, key="compare_one")
    _strip(session, f"compare_{side}", captures.payload(one.digest, 0, one.seen), Place())


def _strip(session: Session, page: str, payload: Payload, first: Place) -> None:
    view = session.strip_of(page)
    if view.capture != payload.key:
        view.choose(payload.key)
    view.begin(first)
    strip(payload, view, key=f"{page}_strip")


@st.cache_resource(max_entries=16, show_spinner=False)
def _row(digest: str, _found: Comparison, *, folded: bool) -> _Row | None:
    made = dashboard.comparison_strip(_found, key=digest, choice=_found.choice.index, folded=folded)
    if made is None or not made.payload["count"]:
        return None
    payload = made.payload
    first = payload["findings"][0]["cell_start"] if payload["findings"] else None
    place = Place(first, 0 if payload["findings"] else None)
    return _Row(pack(payload, digest=digest), place, payload["hidden"], made)


def prompts(left: Chosen, right: Chosen, found: Comparison) -> None:
    """Both prompts, collapsed, where their tokens are known."""
    mine, other = (captures.prompt(one.digest, one.seen) for one in (left, right))
    if mine is not None and other is not None:
        two_prompts(mine, other, found.prompt, key="compare_prompts")


def texts(found: Comparison, which: str, *, key: str) -> None:
    """Texts of both sides, field by field."""
    rows = []
    for choice in found.choices:
        for pair in choice.delivered if which == "delivered" else choice.generated:
            name = field_words(pair.field)
            left, right = sides(pair.left, pair.right or "")
            if pair.right is None:
                left, right = None, sides(None, pair.left or "")[1]
            rows.append(
                {
                    "field": f"choice {choice.index}: {name}" if len(found.choices) > 1 else name,
                    "left": left,
                    "right": right,
                    "equal": pair.equal,
                    "note": "",
                }
            )
    if rows:
        fields(rows, key=key, heads=(_label(found.left, "left"), _label(found.right, "right")))
    else:
        st.info("Neither side has text here.")


def findings(found: Comparison) -> None:
    """All findings: those of one side, and those that both have."""
    pairs = found.findings
    sides = [("left", one) for one in pairs.only_left] + [("right", one) for one in pairs.only_right]
    rows = [
        {"on": side, "severity": str(one.severity), "finding": dashboard.explain(one)}
        for side, one in [*sides, *(("both", one) for one, _ in pairs.both)]
    ]
    if rows:
        columns = {
            "on": st.column_config.TextColumn(width=60),
            "severity": st.column_config.TextColumn(width=80),
        }
        st.dataframe(
            rows, hide_index=True, width="stretch", column_config=columns, alt="Findings of both sides"
        )
    else:
        st.info("Neither side has findings.")


def settings(found: Comparison) -> None:
    """Settings that differ."""
    if not found.settings:
        st.info("Version, endpoint, model, request and prompt token IDs are the same, as far as known.")
        return
    st.dataframe(
        pd.DataFrame([one._asdict() for one in found.settings]).rename(columns={"name": "setting"}),
        hide_index=True,
        width="stretch",
    )


def timing(found: Comparison, *, key: str) -> None:
    """Metrics side by side, and the tokens of both sides on one time axis."""
    shown = pd.DataFrame(
        [
            {
                "figure": row["figure"],
                "left": dashboard.figure(row["left"], row["unit"]),
                "right": dashboard.figure(row["right"], row["unit"]),
            }
            for row in dashboard.timing_rows(found)
        ]
    )
    st.dataframe(shown, hide_index=True, width="stretch")
    theme = "dark" if st.context.theme.type == "dark" else "light"
    figure = both_over_time([(_label(one, side), one.reading) for side, one in _sides(found)], theme)
    if figure is not None:
        st.plotly_chart(
            figure, key=key, alt="Tokens, gaps and tokens per event of both sides over time since the request"
        )


def several(session: Session, reference: Chosen) -> None:
    """Other captures compared with the left one, one row each."""
    names = [name for name in captures.names(session) if name != reference.name]
    chosen = st.multiselect(
        "Captures to compare with the left one", names, format_func=captures.title, key="compare_several"
    )
    others = [one for name in chosen if (one := captures.chosen(session, name)) is not None]
    if not others:
        st.info("Select captures; each gets one row.")
        return
    rows = [dashboard.comparison_summary(compared(reference, one)) for one in others]
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch")


def download(found: Comparison) -> None:
    """The right capture's report with this comparison in it, and the comparison as JSON."""
    with st.popover("Download", icon=":material/download:", width="content"):
        st.download_button(
            "Report (HTML)",
            lambda: inspector.html_report(found.right, against=found).encode("utf-8", "replace"),
            "comparison.html",
            "text/html",
            on_click="ignore",
            type="tertiary",
            key="compare_html",
        )
        st.download_button(
            "Bug report for the right side (Markdown)",
            lambda: inspector.markdown_report(found.right).encode("utf-8", "replace"),
            "bug-report.md",
            "text/markdown",
            on_click="ignore",
            type="tertiary",
            key="compare_markdown",
        )


def _sides(found: Comparison) -> tuple[tuple[str, Inspection], tuple[str, Inspection]]:
    return ("left", found.left), ("right", found.right)


def _label(one: inspector.Inspection, side: str) -> str:
    return f"{side}: {one.reading.server_label}"
