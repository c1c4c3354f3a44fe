"""Live runs: requests in one background event loop, whose events are written to a file before they are shown.

`event_log` keeps the events of a growing run small, `run` is one run, `registry` has all of them and is the
only module that starts a thread or an event loop.
"""
