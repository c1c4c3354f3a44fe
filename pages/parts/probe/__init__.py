"""The body of the Probe page."""

from pages.parts.probe.form import form
from pages.parts.probe.results import example, progress, results
from pages.parts.probe.runs import earlier, watched

__all__ = ["earlier", "example", "form", "progress", "results", "watched"]
