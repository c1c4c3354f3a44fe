"""Compare: two captures by token: what the models emitted, what each server delivered, what differs."""

import streamlit as st

from pages.ui import compare, pickers, state
from pages.ui.banner import sentence_banner

session = state.current()
pickers.uploads(session)
left, right = compare.pick(session)
if left is None or right is None:
    st.info("Open two captures in the sidebar, or choose them above.", icon=":material/upload_file:")
    st.stop()

found = compare.compared(left, right)
st.set_page_config(page_title=f"{found.outcome} · Compare · Harmony Inspector")
sentence_banner(found.level, found.sentence, found.why, compare.facts(found), key="compare_banner")

compare.tokens(session, left, right, found)

names = ["Delivered", "Generated", "Timing", "Settings", "Several"]
delivered, generated, timing, settings, several = st.tabs(names, on_change="rerun", key="compare_tab")
if delivered.open:
    with delivered:
        compare.texts(found, "delivered", key="compare_delivered")
if generated.open:
    with generated:
        compare.texts(found, "generated", key="compare_generated")
if timing.open:
    with timing:
        compare.timing(found, key="compare_timing")
if settings.open:
    with settings:
        compare.settings(found)
if several.open:
    with several:
        compare.several(session, left)
compare.download(found)
