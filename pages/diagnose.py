"""Diagnose: an error text, a server's log or a capture: whose fault it is, why, and what to do."""

import streamlit as st

from pages.parts.diagnose import body as diagnose
from pages.ui import state
from pages.ui.banner import sentence_banner

session = state.current()
st.title("Diagnose", anchor=False)
found = diagnose.asked(session)
if found is None:
    st.info(
        "Paste an error, a traceback or a client's output, upload a log, or take a capture's findings.",
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
    diagnose.nearest(found)
with right:
    diagnose.found_here(found)
    diagnose.judges(found)
diagnose.failures(found)
diagnose.over_time(found)
diagnose.download(session, found)
