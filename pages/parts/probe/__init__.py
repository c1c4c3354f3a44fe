"""The body of the Probe page."""

from pages.parts.probe.form import form, invitation
from pages.parts.probe.results import progress, results
from pages.parts.probe.runs import earlier, watched

__all__ = ["earlier", "form", "invitation", "progress", "results", "watched"]
