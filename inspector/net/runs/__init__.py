"""The registry of live runs: each request in one background event loop, each event first to its file.

`event_log` keeps the events of a growing run small, `run` is one run as its readers see it, `registry` is
the only place of the program that starts a thread or an event loop.
"""
