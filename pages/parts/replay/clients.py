"""Which clients can read a capture: the installed SDK, those of the lab; and what its events violate."""

from collections.abc import Sequence
from typing import Final

import streamlit as st

from inspector.analysis.event_schema import SchemaViolation
from inspector.matrix.receivers import load_receivers as matrix_receivers
from inspector.matrix.results import every_run as matrix_runs
from pages.ui import captures
from pages.ui.captures import Chosen
from pages.ui.rows import rows
from pages.ui.state import Selection, Session
from pages.ui.strip import Payload

_EVENTS_AT_MOST: Final = 20_000
"""Events that the SDK reads in about three seconds."""


def clients(
    session: Session, capture: Chosen, violations: Sequence[SchemaViolation], payload: Payload
) -> None:
    """Draw what each client made of the response, and where its events break the published schema."""
    small = len(capture.inspection.reading.events) <= _EVENTS_AT_MOST
    reading = captures.client_reading(capture.digest, capture.inspection) if small else None
    recorded = [
        received
        for received in matrix_receivers().of_capture(capture.name, matrix_runs())
        if reading is None or received.name != reading.client
    ]
    lines = (
        ["The openai SDK has no accumulator for this response."]
        if reading is None
        else [f"{'●' if reading.accepts else '✕'} {reading.sentence}"]
    )
    lines += [received.words for received in recorded]
    st.text("\n".join(lines))
    if not violations:
        st.text("Its events are in the published schema, and agree with each other.")
        return
    table = [
        {"event": row.event, "violation": row.sentence, "times": row.times, "of": row.code.kind.value}
        for row in violations
    ]
    opened = rows(
        table, label="SchemaViolations of the schema", opens="event", key=f"replay_violations_{capture.name}"
    )
    if opened is not None and (cell := payload.cell_of(violations[opened].event)) is not None:
        session.navigate(Selection(cell))
        st.rerun()
