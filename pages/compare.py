"""Compare: two captures by token: what the models emitted, what each server delivered, what differs."""

import streamlit as st

from pages.parts.compare import repeats, sides, strips, tables, trial
from pages.ui import opening, state
from pages.ui.banner import sentence_banner
from pages.ui.sections import section

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

match section(session, ["Texts", "Findings", "Timing", "More"], key="compare_section", first="Texts"):
    case "Texts":
        st.caption("Delivered")
        tables.texts(comparison, "delivered", key="compare_delivered")
        st.caption("Generated")
        tables.texts(comparison, "generated", key="compare_generated")
    case "Findings":
        tables.findings(comparison)
    case "Timing":
        tables.timing(comparison, key="compare_timing")
        tables.settings(comparison)
    case "More":
        tables.several(session, left)
        repeats.repeats(session)
    case _:
        pass
tables.download(comparison)
