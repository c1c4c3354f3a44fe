"""Reports to share: a capture as one HTML page that opens offline, or as a Markdown bug report.

Neither runs or loads anything, and keys are masked. Prompts and responses stay, so read a report before you
publish it.
"""

from inspector.views.report.facts import Facts, facts
from inspector.views.report.reports import html_report, markdown_report
from inspector.views.report.shrink import Reproduction, minimal, rejection_words, reproduce

__all__ = [
    "Facts",
    "Reproduction",
    "facts",
    "html_report",
    "markdown_report",
    "minimal",
    "rejection_words",
    "reproduce",
]
