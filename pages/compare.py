"""Compare: two captures by token: what the models emitted, what each server delivered, what differs."""

import streamlit as st

from pages.parts.compare import body as compare
from pages.parts.compare import repeats, trial
from pages.ui import pickers, state
from pages.ui.banner import sentence_banner

session = state.current()
compare.receive(session, pickers.uploads(session))
left, right = trial.asking(session) if compare.from_servers() else compare.pick(session)
if left is None or right is None:
    st.stop()

found = compare.compared(left, right)
st.set_page_config(page_title=f"{found.outcome.words} · Compare · Harmony Inspector")
sentence_banner(found.level, found.sentence, found.why, compare.facts(found), key="compare_banner")

compare.prompts(left, right, found)
compare.tokens(session, left, right, found)

names = ["Delivered", "Generated", "Findings", "Timing", "Settings", "More captures", "Repeated runs"]
delivered, generated, findings, timing, settings, several, repeated = st.tabs(
    names, on_change="rerun", key="compare_tab"
)
if delivered.open:
    with delivered:
        compare.texts(found, "delivered", key="compare_delivered")
if generated.open:
    with generated:
        compare.texts(found, "generated", key="compare_generated")
if findings.open:
    with findings:
        compare.findings(found)
if timing.open:
    with timing:
        compare.timing(found, key="compare_timing")
if settings.open:
    with settings:
        compare.settings(found)
if several.open:
    with several:
        compare.several(session, left)
if repeated.open:
    with repeated:
        repeats.repeats(session)
compare.download(found)
