"""Matrix: which release of a server delivers which Harmony stream completely, and which client reads it."""

import streamlit as st

from inspector import InspectorError
from inspector.matrix.clients import load_clients as matrix_clients
from inspector.matrix.headline import matrix_headline
from inspector.matrix.results import every_run as matrix_runs
from inspector.matrix.scripts import load as lab_scripts
from inspector.matrix.table import matrix_table
from pages.parts.matrix import choosing, details
from pages.parts.matrix.grid import grid
from pages.ui.errors import show_error

try:
    runs = matrix_runs()
    scripts = lab_scripts()
    clients = matrix_clients()
except InspectorError as error:
    show_error(error)
    st.stop()
if not runs:
    st.info("No results yet. To record some, run `python -m inspector lab matrix 0.32.0` (see docs/lab.md).")
    st.stop()

with st.container(horizontal=True, vertical_alignment="bottom", key="matrix_row"):
    chosen = choosing.choose(runs, clients.rows)
    words = choosing.choose_words()
headline = st.container()
st.caption(details.legend(chosen.client))
differing = choosing.choose_differing()

endpoint = chosen.endpoint
recorded = choosing.columns(runs, chosen)
columns = recorded
if chosen.client:
    columns = {title: clients.view(chosen.client, run) for title, run in recorded.items()}
table = matrix_table(list(columns.values()), scripts, endpoint, words=words, only_differing=differing)
shown = {row.script.name: row.script for group in table for row in group.rows}
oldest_first = list(reversed(columns.values()))
filtered = set(shown) if (words or differing) and shown else None
headline.markdown(f"# {matrix_headline(oldest_first, scripts, endpoint, filtered=filtered)}")
if not shown:
    st.info("No script matches this filter, or the releases do not differ for the scripts that match.")
    st.stop()

release, script = choosing.selection(list(columns), list(shown))
classes = [group.script_class.value for group in table]
selected = shown[script].example_of.value if script else ""
left, right = st.columns([16, 5], gap="medium")
with left:
    grid(
        columns,
        table,
        release=release,
        script=script,
        opened=classes if words or differing else choosing.opened(classes, selected),
        on_pick=lambda release, script: choosing.address(release=release, script=script),
        on_open=lambda names: choosing.address(**{"class": ",".join(names)}),
    )
with right:
    match release, script:
        case None, None:
            st.caption("Click a class to see its scripts, a cell to see what its release delivered.")
        case str(), None:
            details.release(columns[release], endpoint, set(shown))
        case None, str():
            st.header(script, anchor=False)
            st.text(shown[script].sentence)
        case str(), str():
            details.cell(recorded[release], endpoint, shown[script], runs, clients)
            details.comparison(release, recorded, endpoint, shown[script])
    if chosen.front_end != choosing.NEWEST:
        details.changes(columns, endpoint, set(shown))
