"""What a diagnosis starts from: a pasted text, a log, or a capture."""

import io
from collections.abc import Iterator
from typing import Final, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import inspector
from inspector import Diagnosis, InspectorError
from inspector.capture.replay_only import upload_mb
from inspector.inspection.inspection import diagnose
from inspector.inspection.triage import of_content
from inspector.issues import decompress
from inspector.issues.texts.lines import lines_of_file
from pages.ui import captures, opening, pickers
from pages.ui.errors import show_error
from pages.ui.state import Session

FREQUENT: Final = {
    "openai_harmony.HarmonyError: Unexpected token 0 while expecting start token 200006": 8,
    "openai_harmony.HarmonyError: Unexpected token 200002 while expecting start token 200006": 7,
    "openai_harmony.HarmonyError: error downloading or loading vocab file: failed to download or load "
    "vocab file": 6,
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set': 5,
    "AttributeError: 'ChoiceDelta' object has no attribute 'reasoning_content'": 5,
}
"""The messages of the catalogue that most public threads are about, with their number; no pull requests."""
_PREFIX: Final = "openai_harmony.HarmonyError: "
TEXT: Final = "diagnose_text"
"""The key of the field."""
LOG_LIMIT_MB: Final = upload_mb(1024)
"""The server's `maxUploadSize` must allow it."""
_PROGRESS_EVERY: Final = 8_000_000
"""Characters between two updates of the progress bar."""


def diagnosed(session: Session) -> Diagnosis | None:
    """Draw the choice of a source and diagnose it; None while it is empty."""
    kinds = ["Text", "Log", "Capture"]
    linked = "Capture" if "capture" in st.query_params else "Text"
    kind = st.segmented_control(
        "From", kinds, default=linked, required=True, key="diagnose_kind", label_visibility="collapsed"
    )
    if kind != "Capture":
        opening.elsewhere(session)
        opening.rejections(session)
    if kind == "Log":
        return _log(session)
    if kind == "Capture":
        opening.uploads(session)
        pickers.capture(session)
        opening.button("diagnose")
        capture = captures.chosen(session)
        return None if capture is None else diagnose(capture.inspection)
    return _text(session)


def _text(session: Session) -> Diagnosis | None:
    if TEXT not in st.session_state:  # the browser forgets a field when its page is left
        st.session_state[TEXT] = session.pasted
    text = st.text_area(
        "Error message, traceback or client output",
        height=96,
        placeholder="Paste an error, a traceback or client output",
        key=TEXT,
        label_visibility="collapsed",
    )
    session.pasted = text
    # Leaving the field starts the diagnosis; the button is there because users expect one.
    with st.container(horizontal=True):
        st.button("Diagnose", icon=":material/troubleshoot:", type="primary", key="diagnose_start")
        beside = st.empty()
    if not text.strip() or text in FREQUENT:
        _frequent(text)
    if not text.strip():
        return None
    content = text.encode("utf-8", "replace")
    try:
        diagnosis, capture = of_content(content, "the pasted text")
    except InspectorError as error:
        show_error(error)
        return None
    # The response itself is evidence that a diagnosis only names.
    if capture is not None and beside.button(
        "Open in Replay", icon=":material/play_circle:", key="diagnose_open"
    ):
        captures.open_file(session, "pasted.txt", content)
        st.switch_page("replay.py")
    return diagnosis


def _frequent(chosen: str) -> None:
    """The frequent messages as cards, which are diagnosed on a click."""
    st.caption("Frequent messages, by the public threads about them")
    with st.container(horizontal=True, gap="small", key="diagnose_cards"):
        for place, (message, threads) in enumerate(FREQUENT.items()):
            st.button(
                f"{pickers.plain(message.removeprefix(_PREFIX))}\n\n:gray[{threads} threads]",
                key=f"diagnose_card_{place}{'_chosen' * (message == chosen)}",
                on_click=_take,
                args=(message,),
                width="stretch",
            )


def _take(message: str) -> None:
    st.session_state[TEXT] = message


def _log(session: Session) -> Diagnosis | None:
    file = st.file_uploader(
        "vLLM log",
        key="diagnose_log",
        max_upload_size=LOG_LIMIT_MB,
        help="The log is read once, line by line, and stays on this machine.",
    )
    st.caption(
        "Plain text, gzip or zstd. If the log is larger than 1 GB or memory is limited, use "
        "`python -m inspector diagnose vllm.log`, which reads any size in bounded memory."
    )
    if file is None and session.log is not None:
        name, content = session.log
        opened, key = io.BytesIO(content), name
        st.caption(pickers.plain(f"Showing {name}, opened on another page."))
    elif file is not None:
        session.log = None
        opened, name, key = file, file.name, file.file_id
    else:
        return None
    try:
        if key not in session.logs:
            session.logs = {key: _read(opened, name)}
        return session.logs[key]
    except InspectorError as error:
        show_error(error)
        return None


def _read(file: io.BytesIO, name: str) -> Diagnosis:
    bar = st.progress(0.0, "Reading the log")
    ahead = io.BufferedReader(cast(io.RawIOBase, file))
    try:
        plain = decompress(ahead, name)
        return inspector.diagnose_text(_watched(lines_of_file(plain), file, bar))
    finally:
        ahead.detach()  # otherwise the upload would be closed with it
        bar.empty()


def _watched(lines: Iterator[str], file: io.BytesIO, bar: DeltaGenerator) -> Iterator[str]:
    """The lines; moves the progress bar by the share of the (compressed) file that is read."""
    characters, size = 0, file.getbuffer().nbytes
    for line in lines:
        characters += len(line)
        if characters > _PROGRESS_EVERY:
            characters, done = 0, file.tell()
            bar.progress(min(done / max(size, 1), 1.0), f"{done / 1e6:,.0f} of {size / 1e6:,.0f} MB read")
        yield line
