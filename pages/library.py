"""Library: the captures of a scan, filtered, grouped and plotted; each opens in Replay."""

import streamlit as st

from inspector import InspectorError
from inspector.data.scan import summarise as library_summary
from pages.parts import library as parts
from pages.ui import state
from pages.ui.errors import show_error
from pages.ui.pickers import plain

session = state.current()
query = parts.choose(session)
if query is None:
    parts.first_steps()
    st.stop()
try:
    library = parts.opened(query.folder)
    with library.within():
        summary = library_summary(library, query.words)
        groups = summary.versions if query.by == "version" else library.groups(query.by, query.words)
        st.markdown(f"# {plain(summary.sentence)}")
        parts.groups(library, query, groups)
        parts.kinds_and_causes(library, query, summary)
        parts.captures_table(session, library, query, summary.counts.captures + summary.counts.unread)
except InspectorError as error:
    show_error(error)
    st.stop()
