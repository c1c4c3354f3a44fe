"""Probe: many requests to a server, each response audited, and the share of them that arrives damaged."""

from pages.parts import probe
from pages.ui import state

session = state.current()
run = probe.watched(session)
going = run is not None and not run.ended
probe.form(session, run)
if run is None:
    probe.example()
elif going:
    probe.progress(run)
else:
    probe.results(session, run)
probe.earlier(session, run)
