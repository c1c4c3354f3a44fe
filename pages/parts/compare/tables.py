"""What differs between two captures, as facts and tables, and their times."""

import pandas as pd
import streamlit as st

from inspector import Comparison
from inspector.analysis.audit.wording import explain
from inspector.capture.formats import figure, plural
from inspector.views.comparison_rows import comparison_summary, timing_rows
from pages.parts.compare.sides import both_sides, compared, label
from pages.ui import captures, downloads
from pages.ui.captures import Chosen
from pages.ui.charts import both_over_time
from pages.ui.fields import field_words, fields, sides
from pages.ui.state import Session


def facts(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Facts for the row of chips: words before, the value, words after."""
    counts = comparison.counts
    chips = [(side, inspection.reading.server_label, "") for side, inspection in both_sides(comparison)]
    if counts is not None:
        chips.append(("", f"{counts.equal:,}", f"equal {plural(counts.equal, 'token')}"))
        chips += [
            ("", f"{count:,}", f"{plural(count, 'token')} {words}")
            for count, words in (
                (counts.only_left, "only left"),
                (counts.only_right, "only right"),
                (counts.replaced, "replaced"),
            )
            if count
        ]
    if (place := comparison.divergence) is not None:
        chips.append(("first divergence at token", f"{place.token:,}", ""))
    findings = comparison.findings
    sides = (
        (findings.only_left, "only left"),
        (findings.only_right, "only right"),
        (findings.both, "on both sides"),
    )
    chips += [
        ("", f"{len(side_findings):,}", f"{plural(len(side_findings), 'finding')} {words}")
        for side_findings, words in sides
        if side_findings
    ]
    if not any(side_findings for side_findings, _ in sides):
        chips.append(("", "0", "findings"))
    return chips


def texts(comparison: Comparison, shown: str, *, key: str) -> None:
    """Texts of both sides, field by field."""
    rows = []
    for choice in comparison.choices:
        for pair in choice.delivered if shown == "delivered" else choice.generated:
            name = field_words(pair.field)
            left, right = sides(pair.left, pair.right or "")
            if pair.right is None:
                left, right = None, sides(None, pair.left or "")[1]
            rows.append(
                {
                    "field": f"choice {choice.index}: {name}" if len(comparison.choices) > 1 else name,
                    "left": left,
                    "right": right,
                    "equal": pair.equal,
                    "note": "",
                }
            )
    if rows:
        fields(rows, key=key, heads=(label(comparison.left, "left"), label(comparison.right, "right")))
    else:
        st.info("Neither side has text here.")


def findings(comparison: Comparison) -> None:
    """All findings: those of one side, and those that both have."""
    pairs = comparison.findings
    sides = [("left", finding) for finding in pairs.only_left] + [
        ("right", finding) for finding in pairs.only_right
    ]
    rows = [
        {"on": side, "severity": str(finding.severity), "finding": explain(finding)}
        for side, finding in [*sides, *(("both", finding) for finding, _ in pairs.both)]
    ]
    if rows:
        columns = {
            "on": st.column_config.TextColumn(width=60),
            "severity": st.column_config.TextColumn(width=80),
        }
        st.dataframe(
            rows, hide_index=True, width="stretch", column_config=columns, alt="Findings of both sides"
        )
    else:
        st.info("Neither side has findings.")


def settings(comparison: Comparison) -> None:
    """Settings that differ."""
    if not comparison.settings:
        st.info("Version, endpoint, model, request and prompt token IDs are the same, as far as known.")
        return
    st.dataframe(
        pd.DataFrame([setting._asdict() for setting in comparison.settings]).rename(
            columns={"name": "setting"}
        ),
        hide_index=True,
        width="stretch",
    )


def timing(comparison: Comparison, *, key: str) -> None:
    """Metrics side by side, and the tokens of both sides on one time axis."""
    table = pd.DataFrame(
        [
            {
                "figure": row["figure"],
                "left": figure(row["left"], row["unit"]),
                "right": figure(row["right"], row["unit"]),
            }
            for row in timing_rows(comparison)
        ]
    )
    st.dataframe(table, hide_index=True, width="stretch")
    theme = "dark" if st.context.theme.type == "dark" else "light"
    chart = both_over_time(
        [(label(inspection, side), inspection.reading) for side, inspection in both_sides(comparison)], theme
    )
    if chart is not None:
        st.plotly_chart(
            chart, key=key, alt="Tokens, gaps and tokens per event of both sides over time since the request"
        )


def several(session: Session, reference: Chosen) -> None:
    """Other captures compared with the left one, one row each."""
    names = [name for name in captures.names(session) if name != reference.name]
    chosen = st.multiselect(
        "Captures to compare with the left one",
        names,
        format_func=captures.labels(session),
        filter_mode="contains",
        key="compare_several",
    )
    candidates = [candidate for name in chosen if (candidate := captures.chosen(session, name)) is not None]
    if not candidates:
        st.info("Select captures; each gets one row.")
        return
    rows = [comparison_summary(compared(reference, candidate)) for candidate in candidates]
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch")


def download(comparison: Comparison) -> None:
    """The report of the right capture with this comparison in it, and its bug report."""
    page, bug_report = downloads.reports(
        comparison.right, page="comparison.html", bug_report="bug-report.md", against=comparison
    )
    bug_report = bug_report._replace(label="Bug report for the right side (Markdown)")
    downloads.menu([page, bug_report], key="compare_download")
