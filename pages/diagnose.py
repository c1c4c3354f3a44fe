"""Diagnose: identifies the cause of an error text, a server log or a capture, and how to fix it."""

import streamlit as st

from pages.parts.diagnose import body as diagnose
from pages.ui import state
from pages.ui.banner import sentence_banner

session = state.current()
found = diagnose.asked(session)
if found is None:
    st.info(
        "Paste an error, a traceback or client output, upload a log, or select a capture.",
        icon=":material/troubleshoot:",
    )
    st.stop()

sentence_banner(
    diagnose.level(found),
    found.sentence,
    diagnose.why(found),
    diagnose.facts(found),
    notes=found.notes,
    key="diagnose_banner",
)
left, right = diagnose.places(found)
with left:
    diagnose.answers(found)
    diagnose.closest(found)
with right:
    diagnose.found_here(found)
    diagnose.judges(found)
diagnose.failures(found)
diagnose.over_time(found)
diagnose.download(session, found)
