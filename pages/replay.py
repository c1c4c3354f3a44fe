"""Replay: one capture, token by token: what the model generated above what the client received."""

import streamlit as st

from pages.parts.replay import events, overview
from pages.ui import captures, charts, pickers, state
from pages.ui.banner import banner
from pages.ui.fields import fields
from pages.ui.prompt import prompt_block
from pages.ui.strip import raw_events, strip

session = state.current()
pickers.uploads(session)

bar = st.container(horizontal=True, vertical_alignment="center", gap="small", key="replay_bar")
with bar:
    name = pickers.capture(session)
    overview.overview(session)

one = captures.chosen(session)
if one is None:
    if name is not None:
        st.warning(
            pickers.plain(
                f"Capture {name} not found. Uploaded files exist only in the session that opened them, for "
                "7 days. Open the file again."
            )
        )
    st.info("Open a capture in the sidebar, or select one above.", icon=":material/upload_file:")
    st.stop()

seen = one.seen
st.set_page_config(page_title=f"{seen.verdict.level}: {one.name} · Replay · Harmony Inspector")
with bar:
    pickers.compare_with(session, one.name)
    pickers.downloads(seen)
choice = pickers.choice(session, seen)
told = captures.prompt(one.digest, seen)
row = captures.fact_row(one.digest, choice, seen)
banner(seen, choice=choice, known=row, prompt=told, key="replay_banner")

if told is not None:
    prompt_block(told, key="replay_prompt")

session.begin(captures.first_place(seen, choice))
payload = captures.payload(one.digest, choice, seen)
strip(payload, session, key="replay_strip")
number = events.opened_event(session, seen, choice, payload)
raw_events(payload, session.place.token, [events.raw(seen, number)], key="replay_raw")
session.show_address()

names = ["Generated and delivered", "Timeline", "Events", "Request"]
texts, timeline, raw, request = st.tabs(names, on_change="rerun", key="replay_tab")
if texts.open:
    with texts:
        fields(captures.field_parts(one.digest, choice, seen), key="replay_fields")
if timeline.open:
    with timeline:
        charts.draw_timeline(one.digest, choice, seen, key="replay_timeline")
if raw.open:
    with raw:
        events.events(session, seen, choice, payload)
if request.open:
    with request:
        events.request(seen)
