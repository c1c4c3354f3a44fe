"""The two reports of a capture: Markdown and one HTML page."""

from inspector.inspection.compare import Comparison
from inspector.inspection.inspection import Inspection
from inspector.views.report.facts import facts
from inspector.views.report.markdown import markdown
from inspector.views.report.page import page
from inspector.views.strip import strip


def markdown_report(inspection: Inspection) -> str:
    """The bug report of a capture."""
    return markdown(facts(inspection))


def html_report(inspection: Inspection, *, against: Comparison | None = None) -> str:
    """The page of a capture; `against` adds how it compares with another."""
    reading, told = inspection.reading, facts(inspection)
    choice = told.result.choice
    payload = strip(inspection, key="report", choice=choice)
    times: list[tuple[float, int]] = []
    for place, event in enumerate(choice.tokens.events):
        at = reading.arrival_s(event)
        if at is None:
            times = []
            break
        if times and times[-1][0] == at:
            times.pop()
        times.append((at, place + 1))
    return page(told, payload, times, against)
