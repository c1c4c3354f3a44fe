"""The body of the Probe page."""

from pages.parts.probe.form import form, invitation
from pages.parts.probe.results import progress, results, watched

__all__ = ["form", "invitation", "progress", "results", "watched"]
