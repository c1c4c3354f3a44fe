"""Matrix: which release delivers which Harmony stream completely; what gateways and clients make of it."""

import streamlit as st

from inspector import InspectorError
from inspector.matrix.headline import matrix_headline, not_served
from inspector.matrix.receivers import load_receivers as matrix_receivers
from inspector.matrix.results import every_run as matrix_runs
from inspector.matrix.scripts import load as lab_scripts
from inspector.matrix.table import matrix_table
from pages.parts.matrix import choosing, details
from pages.parts.matrix.grid import grid
from pages.ui.errors import show_error

try:
    runs = matrix_runs()
    scripts = lab_scripts()
    receivers = matrix_receivers()
except InspectorError as error:
    show_error(error)
    st.stop()
if not runs:
    st.info("No results yet. To record some, run `python -m inspector lab matrix 0.32.0` (see docs/lab.md).")
    st.stop()

with st.container(horizontal=True, vertical_alignment="bottom", key="matrix_row"):
    chosen = choosing.choose(runs, receivers)
    words = choosing.choose_words()
headline = st.container()
if absent := not_served(chosen.front_end, chosen.endpoint):
    headline.markdown(f"# {absent}")
    st.stop()
with st.container(horizontal=True, vertical_alignment="center", key="matrix_keys"):
    st.caption(details.legend(chosen.receiver), width="content")
    differing = choosing.choose_differing()

endpoint = chosen.endpoint
if chosen.received_by:
    runs = receivers.of(chosen.received_by, runs, endpoint)
releases, others = choosing.columns(runs, chosen), choosing.beside(runs, chosen)
recorded = {**releases, **others}
columns = recorded
if chosen.received_by:
    columns = {title: receivers.view(chosen.received_by, run) for title, run in recorded.items()}
shown_runs = list(columns.values())
table = matrix_table(shown_runs, scripts, endpoint, words=words, only_differing=differing, beside=len(others))
shown = {row.script.name: row.script for group in table for row in group.rows}
classes = [group.script_class for group in table]
release, script = choosing.selection(list(columns), list(shown))
opened = choosing.opened(classes, shown[script].example_of if script else None)
says = matrix_headline(
    table,
    shown_runs,
    opened=opened[0] if len(opened) == 1 else None,
    filtered=bool(words or differing),
)
headline.markdown(f"# {says.sentence}")
if says.beside:
    headline.markdown(says.beside)
if not columns:
    st.stop()
if not shown:
    st.info("No script matches this filter, or the releases do not differ for the scripts that match.")
    st.stop()

grid(
    columns,
    table,
    server=choosing.server_words(chosen),
    beside=len(others),
    release=release,
    script=script,
    opened=[name.value for name in (classes if words or differing else opened)],
    on_pick=lambda release, script: choosing.address(release=release, script=script),
    on_open=lambda names: choosing.address(**{"class": ",".join(names)}),
)
match release, script:
    case None, None:
        st.caption("Click a class to see its scripts, a cell to see what its release delivered.")
    case str(), None:
        details.release(columns[release], endpoint, set(shown))
    case None, str():
        st.header(script, anchor=False)
        st.text(shown[script].sentence)
    case str(), str():
        details.cell(recorded[release], endpoint, shown[script], runs, receivers)
        details.comparison(release, recorded, endpoint, shown[script])
details.changes({title: columns[title] for title in releases}, endpoint, set(shown))
