"""Matrix: which vLLM release delivers which Harmony stream completely, reports an error, or loses text."""

import streamlit as st

from inspector import InspectorError, dashboard
from pages.parts.matrix import body as matrix

try:
    runs = dashboard.matrix_runs()
    scripts = dashboard.lab_scripts()
except InspectorError as error:
    st.error(str(error))
    st.stop()
if not runs:
    st.info("No results yet. To record some, run `python -m inspector lab matrix 0.32.0` (see docs/lab.md).")
    st.stop()

with st.container(horizontal=True, vertical_alignment="bottom", key="matrix_row"):
    endpoint, interval = matrix.choice(runs)
    words = st.text_input("Filter scripts", placeholder="tool, emoji, assistantary", width=240)
    differing = st.toggle("Only where releases differ")

shown = [run for run in runs if run.stream_interval == interval]
st.markdown(f"# {matrix.headline(shown, scripts, endpoint)}")
st.caption(matrix.legend())
# Newest first: a narrow page cuts off the oldest releases, not those that people upgrade to.
table = matrix.frame(shown[::-1], scripts, endpoint, words=words, only_differing=differing)
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
        script_name, version = cell
        run = next(run for run in shown if run.version == version)
        script = next(script for script in scripts if script.name == script_name)
        matrix.details(run, endpoint, script)
        matrix.comparing(run, shown, endpoint, script)
