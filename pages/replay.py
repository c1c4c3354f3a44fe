"""Replay: one capture, token by token: what the model generated above what the client received."""

import streamlit as st

from inspector import Level
from pages.parts.replay import clients, events, overview
from pages.ui import captures, charts, downloads, opening, pickers, state
from pages.ui.banner import banner
from pages.ui.fields import fields
from pages.ui.prompt import prompt_block
from pages.ui.sections import section
from pages.ui.strip import raw_events, strip

session = state.current()
opening.uploads(session)

bar = st.container(horizontal=True, vertical_alignment="center", gap="small", key="replay_bar")
with bar:
    name = pickers.capture(session)
    opening.button("replay")
with st.sidebar:
    overview.overview(session)

capture = captures.chosen(session)
if capture is None:
    if name is not None:
        st.warning(
            pickers.plain(
                f"Capture {name} not found. Uploaded files exist only in the session that opened them, for "
                "7 days. Open the file again."
            )
        )
    st.info("Open, drop or paste a capture, or select one above.", icon=":material/upload_file:")
    st.stop()

inspection = capture.inspection
with bar:
    pickers.compare_with(session, capture.name)
    downloads.menu(
        downloads.capture_downloads(inspection), key="replay_download", caption=downloads.REPORT_WARNING
    )
choice = pickers.choice(session, capture)
result = captures.result(capture.digest, choice, inspection)
level = "prompt warning" if result.level is Level.CLEAN and result.prompt_warnings else result.level
st.set_page_config(page_title=f"{level}: {capture.name} · Replay · Harmony Inspector")
banner(
    result,
    differ=captures.differences_of(capture.digest, choice, inspection),
    session=session,
    key="replay_banner",
)

session.navigate_first(captures.first_selection(inspection, choice))
payload = captures.payload(capture.digest, choice, inspection)
strip(payload, session, key="replay_strip")
number = events.opened_event(session, inspection, choice, payload)
raw_events(payload, session.selection.token, [events.raw(inspection, number)], key="replay_raw")
# Whatever a current SDK cannot read has a violation; for captures of the matrix, older ones were asked too.
about_clients = ["Clients"] if result.violations or captures.is_of_matrix(capture.name) else []
sections = ["Texts", "Timeline", "Events", *about_clients, "Request"]
opened = section(session, sections, key="replay_section")
session.show_address()
if opened == "Texts":
    fields(captures.field_parts(capture.digest, choice, inspection), key="replay_fields")
elif opened == "Timeline":
    charts.draw_timeline(capture.digest, choice, inspection, key="replay_timeline")
elif opened == "Events":
    events.events(session, inspection, choice, payload)
elif opened == "Clients":
    clients.clients(session, capture, result.violations, payload)
elif opened == "Request":
    if result.prompt is not None:
        prompt_block(result.prompt, key="replay_prompt")
    events.request(inspection)
