"""An inspection in a notebook: what the client got, where the texts differ, and the picture below it.

A viewer that shows no frames, such as GitHub's, still has the sentence and the table.
"""

from collections.abc import Sequence
from html import escape
from typing import Final

from inspector.analysis.audit.verdict import Level
from inspector.inspection.inspection import Inspection
from inspector.views.audit_result import AuditResult
from inspector.views.differences import Part, differences
from inspector.views.report.escape import html_text
from inspector.views.report.page import STYLE
from inspector.views.report.player import picture, policy
from inspector.views.strip import strip

_SIGNS: Final = {Level.CLEAN: "✓", Level.WARNING: "!", Level.ERROR: "✕", Level.UNKNOWN: "?"}
_HEIGHT_PX: Final = 360
"""The picture with its tools, as the HTML report draws it."""
_FRAME_STYLE: Final = "main{padding:0}.picture{margin:0}"


def notebook_html(inspection: Inspection) -> str:
    """HTML of the first damaged choice, or of the first; plain but for the frame, whose script is ours."""
    wrong = {finding.choice for finding in inspection.findings}
    choices = inspection.reading.choices
    number = next((place for place, choice in enumerate(choices) if choice.index in wrong), 0)
    result = AuditResult(inspection, number)
    payload = strip(inspection, key="notebook", choice=result.choice)
    parts = [
        f"<p><b>{_SIGNS[result.level]} {html_text(result.headline_with_prompt)}</b><br>",
        f"{html_text(result.fault)}</p>",
        _table(result),
        _frame(picture(payload)) if payload["count"] else "",
    ]
    return f"<div>{''.join(parts)}</div>"


def _table(result: AuditResult) -> str:
    shown = differences(result)
    rows = []
    for field in shown.fields:
        for excerpt in field.excerpts:
            left, right = _side(excerpt.left, ""), _side(excerpt.right, "[missing]")
            rows.append(f"<tr><th>{html_text(field.label)}</th><td>{left}</td><td>{right}</td></tr>")
    if not rows:
        return ""
    more = f"<tr><td></td><td colspan=2>{shown.more} more differences</td></tr>" if shown.more else ""
    head = "<tr><th></th><th>the model wrote</th><th>your client got</th></tr>"
    return f"<table>{head}{''.join(rows)}{more}</table>"


def _side(parts: Sequence[Part], gap: str) -> str:
    return "".join(_part(style, text, gap) for style, text in parts)


def _part(style: str, text: str, gap: str) -> str:
    match style:
        case "mark":
            return f"<mark>{html_text(text)}</mark>"
        case "gap":
            return f"<b>{gap}</b>"
        case "fold":
            return f"<i> … {text} … </i>"
        case "note":
            return f"<i>{html_text(text)}</i>"
        case _:
            return html_text(text)


def _frame(body: str) -> str:
    document = (
        f"<!doctype html><meta charset='utf-8'>"
        f"<meta http-equiv='Content-Security-Policy' content=\"{policy()}\">"
        f"<style>{STYLE}{_FRAME_STYLE}</style><main>{body}</main>"
    )
    return (
        f'<iframe title="What the model wrote, and where each token arrived" sandbox="allow-scripts" '
        f'style="width:100%;height:{_HEIGHT_PX}px;border:0" srcdoc="{escape(document)}"></iframe>'
    )
