"""Library: the captures of a scan, filtered, grouped and plotted; each opens in Replay."""

import streamlit as st

from inspector import InspectorError, dashboard
from pages.parts import library as parts
from pages.ui import state
from pages.ui.errors import show_error
from pages.ui.pickers import plain

session = state.current()
scans = dashboard.offered_scans()
if not scans:
    st.info(
        "No scan yet. Run `python -m inspector scan PLACE...` on folders, zip archives or URLs of captures, "
        "and reload this page. It shows scans in the folder of live captures, and in the folders named by "
        f"`{dashboard.SCANS_VARIABLE}`. Scans need an extra: "
        '`pip install "harmony-inspector[scan]"`, in a checkout `pip install -r requirements-scan.txt`.',
        icon=":material/inventory_2:",
    )
    st.stop()

query = parts.choose(session, scans)
try:
    library = parts.opened(scans[query.scan])
    summary = dashboard.library_summary(library, query.words)
    groups = summary.versions if query.by == "version" else library.groups(query.by, query.words)
    st.markdown(f"# {plain(summary.sentence)}")
    parts.groups(library, query, groups)
    parts.kinds_and_causes(library, query, summary)
    parts.captures_table(session, library, query, summary.counts.captures + summary.counts.unread)
except InspectorError as error:
    show_error(error)
    st.stop()
