"""Diagnose: identifies the cause of an error text, a server log or a capture, and how to fix it."""

import streamlit as st

from pages.parts.diagnose import answers, failures, source
from pages.ui import state
from pages.ui.banner import follow, sentence_banner

session = state.current()
diagnosis = source.diagnosed(session)
if diagnosis is None:
    st.stop()

follow(
    sentence_banner(
        answers.level(diagnosis),
        diagnosis.sentence,
        answers.why(diagnosis),
        answers.facts(diagnosis),
        fixes=answers.fix(diagnosis),
        decided=answers.decided(diagnosis),
        notes=diagnosis.notes,
        key="diagnose_banner",
    )
)
answers.ask_for_log(diagnosis)
answers.links(diagnosis, answers.chosen_capture(session))
left, right = answers.columns(diagnosis)
with left:
    answers.answers(diagnosis)
    answers.closest(diagnosis)
with right:
    failures.findings(diagnosis)
    failures.other_parsers(diagnosis)
failures.by_message(diagnosis)
failures.over_time(diagnosis)
answers.download(session, diagnosis)
