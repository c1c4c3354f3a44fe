"""Compare: two captures by token: what the models emitted, what each server delivered, what differs."""

import streamlit as st

from pages.parts.compare import repeats, sides, strips, tables, trial
from pages.ui import opening, state
from pages.ui.banner import sentence_banner

session = state.current()
sides.receive(session, opening.uploads(session))
left, right = trial.asking(session) if sides.from_servers() else sides.pick(session)
if left is None or right is None:
    st.stop()

comparison = sides.compared(left, right)
st.set_page_config(page_title=f"{comparison.outcome.words} · Compare · Harmony Inspector")
sentence_banner(
    comparison.level, comparison.sentence, comparison.why, tables.facts(comparison), key="compare_banner"
)

strips.prompts(left, right, comparison)
strips.tokens(session, left, right, comparison)

texts, findings, timing, more = st.tabs(
    ["Texts", "Findings", "Timing and settings", "More captures and runs"],
    on_change="rerun",
    key="compare_tab",
)
if texts.open:
    with texts:
        st.caption("Delivered")
        tables.texts(comparison, "delivered", key="compare_delivered")
        st.caption("Generated")
        tables.texts(comparison, "generated", key="compare_generated")
if findings.open:
    with findings:
        tables.findings(comparison)
if timing.open:
    with timing:
        tables.timing(comparison, key="compare_timing")
        tables.settings(comparison)
if more.open:
    with more:
        tables.several(session, left)
        repeats.repeats(session)
tables.download(comparison)
