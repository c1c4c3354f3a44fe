"""Library: many captures at once: what their clients got, by group; each opens in Replay."""

import streamlit as st

from inspector import InspectorError
from inspector.data.scan import summarise as library_summary
from pages.parts import library as parts
from pages.ui import state
from pages.ui.errors import show_error

session = state.current()
if parts.running(session):
    st.stop()
query = parts.choose(session)
if query is None:
    st.stop()
try:
    library = parts.opened(query.folder)
    with library.within():
        summary = library_summary(library, query.words)
        parts.lead(session, library, query, summary)
        parts.shares(library, query, summary)
        parts.captures_table(session, library, query, summary.counts)
        parts.kinds_and_causes(library, query, summary)
except InspectorError as error:
    show_error(error)
    st.stop()
