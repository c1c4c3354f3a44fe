"""A scan that runs: one bar with what the clients got so far, and the worst captures."""

from typing import Final

import streamlit as st

from inspector.capture.formats import count, duration, number
from inspector.data.scan.columns import CAPTURES
from inspector.data.scan.jobs import ScanJob, scan_jobs
from inspector.data.scan.scanning import Progress
from inspector.views.delivery import DAMAGED, Delivery
from pages.parts.library.results import open_capture
from pages.ui import archives
from pages.ui.palette import shade
from pages.ui.pickers import plain
from pages.ui.rows import rows
from pages.ui.state import Session

_EACH_S: Final = 0.5
_FATES: Final = (
    ("✕", "damaged", tuple(delivery.value for delivery in DAMAGED)),
    ("▲", "error reported", (Delivery.ERROR_REPORTED.value,)),
    ("?", "cannot be determined", (Delivery.UNDETERMINED.value,)),
    ("✓", "complete", (Delivery.COMPLETE.value,)),
)
_COLOURS: Final = ("level-error", "level-warning", "level-unknown", "level-clean", "other")
_NAMES: Final = [column.name for column in CAPTURES]


def running(session: Session) -> bool:
    """Draw the scan of the session that runs; False where none does. One that failed says why, once."""
    job = archives.job_of(session)
    if job is None:
        return False
    if job.ended:
        st.error(plain(job.trouble), icon=":material/block:")
        scan_jobs().forget(job)
        return False
    st.fragment(_progress, run_every=_EACH_S)(session, job)
    return True


def _progress(session: Session, job: ScanJob) -> None:
    if job.ended:
        st.rerun()
    progress = job.progress
    with st.container(border=True, key="library_progress"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{plain(job.folder.name)}** · {plain(_far(progress))}", width="stretch")
            st.button("Stop", on_click=job.stop, key="library_stop")
        if progress is None or not progress.files:
            return
        fates = [
            (sign, words, sum(progress.deliveries[delivery] for delivery in deliveries))
            for sign, words, deliveries in _FATES
        ]
        fates.append(("–", "could not be read", progress.unread))
        st.html(_bar(progress, [amount for _, _, amount in fates]))
        st.caption(
            " \u2003 ".join(f"{sign} {number(amount)} {words}" for sign, words, amount in fates if amount)
        )
    if progress.captures:
        st.markdown(f"# So far, {number(progress.damaged)} of {count(progress.captures, 'response')} damaged")
    if worst := [dict(zip(_NAMES, row, strict=True)) for row in progress.worst]:
        opened = rows(
            [
                {
                    "worst first": row["name"],
                    "what your client got": row["delivery"],
                    "what happened": row["sentence"],
                    "version": row["version"] or "",
                }
                for row in worst
            ],
            label="The worst captures so far",
            opens="worst first",
            key="library_worst",
        )
        if opened is not None:
            open_capture(session, worst[opened])


def _far(progress: Progress | None) -> str:
    if progress is None:
        return "listing its files"
    words = f"{number(progress.done)} of {count(progress.files, 'file')} read"
    return words if progress.left_s is None else f"{words}, {duration(progress.left_s)} left"


def _bar(progress: Progress, amounts: list[int]) -> str:
    """The bar; of numbers alone, so no text of a file is in it."""
    captures = max(1, sum(amounts))
    share = 100 * progress.done / progress.files
    parts = "".join(
        f'<span style="width:{share * amount / captures:.2f}%;background:{shade(colour, "light")}"></span>'
        for colour, amount in zip(_COLOURS, amounts, strict=True)
    )
    return (
        '<div class="fates" role="progressbar" aria-label="files read" aria-valuemin="0" aria-valuemax="100" '
        f'aria-valuenow="{share:.0f}">{parts}</div>'
    )
