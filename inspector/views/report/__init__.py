"""A capture as something to hand on: one HTML page that opens offline, or a Markdown bug report.

Neither runs anything, loads anything or carries keys; what tokens and texts say stays in them, so read
a report before you publish it.
"""

from inspector.views.report.facts import Facts, facts
from inspector.views.report.reports import html_report, markdown_report
from inspector.views.report.shrink import Reproduction, minimal, refusal, reproduce

__all__ = [
    "Facts",
    "Reproduction",
    "facts",
    "html_report",
    "markdown_report",
    "minimal",
    "refusal",
    "reproduce",
]
