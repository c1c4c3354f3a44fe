"""Matrix: which vLLM release delivers which Harmony stream completely, reports an error, or loses text."""

import streamlit as st

from inspector import InspectorError, dashboard
from pages.parts.matrix import body as matrix
from pages.parts.matrix import choosing
from pages.ui.errors import show_error

try:
    runs = dashboard.matrix_runs()
    scripts = dashboard.lab_scripts()
except InspectorError as error:
    show_error(error)
    st.stop()
if not runs:
    st.info("No results yet. To record some, run `python -m inspector lab matrix 0.32.0` (see docs/lab.md).")
    st.stop()

with st.container(horizontal=True, vertical_alignment="bottom", key="matrix_row"):
    chosen = choosing.choose(runs)
    example_of = choosing.choose_class()
    words, differing = choosing.choose_rows()

columns = choosing.columns(runs, chosen)
endpoint = chosen.endpoint
# Newest first: a narrow page cuts off the oldest releases, not those that people upgrade to.
newest_first = dict(reversed(columns.items()))
table = matrix.frame(
    newest_first, scripts, endpoint, words=words, only_differing=differing, example_of=example_of
)
filtered = (words or differing or example_of is not None) and not table.empty
script_names = set(map(str, table.index)) if filtered else None
st.markdown(
    f"# {dashboard.matrix_headline(list(columns.values()), scripts, endpoint, filtered=script_names)}"
)
st.caption(matrix.legend())
if table.empty:
    st.info("No script matches this filter, or the releases do not differ for the scripts that match.")
    st.stop()

left, right = st.columns([5, 2], gap="medium")
with left:
    cell = matrix.grid(table)
with right:
    if cell is None:
        st.caption("Select a cell to see what was delivered, and to open its capture on the Replay page.")
    else:
        script_name, label = cell
        script = next(script for script in scripts if script.name == script_name)
        matrix.details(columns[label], endpoint, script, runs)
        matrix.comparing(label, columns, endpoint, script)
    matrix.changes(columns, endpoint)
