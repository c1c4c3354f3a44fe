"""What an archive shows, in words: the sentence first, then tables; for the commands and the page."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from inspector.analysis.audit.kinds import kind_and_key
from inspector.capture.formats import count, number, plural
from inspector.data.scan.library import Counts, Group, Library, Tally
from inspector.issues import Situation, first_step, issues
from inspector.issues.catalogue.versions import as_version
from inspector.views.delivery import Delivery

_VERSIONS: Final = 3
_TALLIES: Final = 12
_UNREAD: Final = 5
_INCOMPLETE: Final = (
    "This scan is not complete: it was stopped or still runs, and the same command resumes it. So far: "
)
_SEARCHED: Final = " The filter is searched as words."
_LEVELS: Final = ("clean", "warning", "error", "unknown", "unread")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What the captures of a filter come to."""

    sentence: str
    headline: str
    """What the clients got; empty for rows that do not say it."""
    counts: Counts
    severities: Mapping[str, int]
    """Findings by severity."""
    versions: Sequence[Group]
    kinds: Sequence[Tally]
    causes: Sequence[Tally]
    unread: Sequence[dict[str, Any]]
    """The first files that could not be read."""
    complete: bool = True
    """False for a scan that still runs, or was stopped."""


def summarise(library: Library, words: str = "") -> Summary:
    """The summary of the captures that a filter keeps."""
    counts = library.counts(words)
    versions = library.groups("version", words)
    complete = library.manifest.finished_at is not None
    return Summary(
        complete=complete,
        sentence=("" if complete else _INCOMPLETE)
        + _sentence(counts, versions, library.first_error(words), filtered=bool(words.strip()))
        + ("" if not words.strip() or library.is_expression(words) else _SEARCHED),
        headline=headline(counts),
        counts=counts,
        severities=library.severities(words),
        versions=versions,
        kinds=library.tallies("kind", words),
        causes=library.tallies("finding_cause", words),
        unread=library.unread(words, limit=_UNREAD) if counts.unread else [],
    )


def headline(counts: Counts) -> str:
    """How many responses are damaged; empty where the rows do not say it."""
    if not counts.deliveries:
        return ""
    of = count(counts.captures, "response")
    undetermined = counts.deliveries.get(Delivery.UNDETERMINED, 0)
    doubt = f"; {number(undetermined)} cannot be determined" if undetermined else ""
    if not counts.damaged:
        return f"None of {of} is known to be damaged{doubt}." if doubt else f"None of {of} is damaged."
    silent = counts.deliveries.get(Delivery.NO_ANSWER, 0)
    without = f", {number(silent)} of them without any answer or error" if silent else ""
    verb = "is" if counts.damaged == 1 else "are"
    return f"{number(counts.damaged)} of {of} {verb} damaged{without}{doubt}."


def _sentence(
    counts: Counts, versions: Sequence[Group], first: tuple[str | None, int], *, filtered: bool
) -> str:
    unread = f"{count(counts.unread, 'file')} could not be read." if counts.unread else ""
    if not counts.captures:
        if unread:
            return unread
        return "No capture matches the filter." if filtered else "The scan found no captures."
    captures = count(counts.captures, "capture")
    if counts.unknown == counts.captures:
        return f"The verdict of {captures} is unknown. {unread}".rstrip()
    if counts.error:
        verb = "has" if counts.error == 1 else "have"
        sentence = (
            f"{number(counts.error)} of {captures} {verb} errors ({share_words(counts)}){_since(*first)}"
        )
        sentence += _worst_versions(versions)
    else:
        sentence = f"None of {captures} has errors"
        if counts.warning:
            sentence += f"; {number(counts.warning)} {'has' if counts.warning == 1 else 'have'} warnings"
    if counts.unknown:
        sentence += f"; the verdict of {number(counts.unknown)} is unknown"
    return f"{sentence}. {unread}".rstrip()


def _since(day: str | None, undated: int) -> str:
    """Since when there are errors, as far as the captures have dates."""
    if day is None:
        return ""
    return f", the first with a known date on {day}" if undated else f", the first on {day}"


def _worst_versions(versions: Sequence[Group]) -> str:
    """The known versions with the highest rate of errors, where not all have the same."""
    known = [group for group in versions if group.value is not None and group.counts.captures]
    highest = max((group.counts.share or 0 for group in known), default=0)
    worst = [group for group in known if group.counts.share == highest]
    if not highest or len(worst) == len(known):
        return ""
    words = [
        f"{group.value} ({number(group.counts.error)} of {number(group.counts.captures)})"
        for group in worst[:_VERSIONS]
    ]
    if len(worst) > _VERSIONS:
        words.append(f"{count(len(worst) - _VERSIONS, 'other')}")
    listed = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
    return f"; the rate is highest with {plural(len(words), 'version')} {listed}"


def share_words(counts: Counts) -> str:
    """The share of captures with errors."""
    if counts.share is None:
        return ""
    share = 100 * counts.share
    return f"{share:.1f}%" if 0 < share < 10 or 99 < share < 100 else f"{share:.0f}%"


def value_words(value: object, column: str) -> str:
    """A value of a column as tables show it."""
    if column == "kind" and isinstance(value, str):
        return kind_and_key(value)
    if column == "finding_cause" and isinstance(value, str) and (title := cause_title(value)):
        return f"{title} ({value})"
    return "unknown" if value is None else number(value) if isinstance(value, int) else str(value)


def column_words(name: str) -> str:
    """A column's name as a heading has it."""
    return name.replace("_", " ")


def cause_title(cause: str) -> str:
    """The title of a known issue; empty for one that the catalogue does not have any more."""
    issue = issues().get(cause)
    return "" if issue is None else issue.title


def cause_fix(cause: str, versions: Iterable[str | None]) -> str:
    """The first thing to do about a known issue, on the newest of the releases that have it; empty as above.

    What repairs the newest repairs the older ones too.
    """
    issue = issues().get(cause)
    if issue is None:
        return ""
    numbered = [(number, version) for version in versions if version and (number := as_version(version))]
    newest = max(numbered)[1] if numbered else None
    return first_step(issue, Situation(version=newest, captured=True))


def group_cells(by: str, groups: Sequence[Group]) -> list[dict[str, str | int]]:
    """A row for each group, without levels that no group has."""
    used = [level for level in _LEVELS if any(getattr(group.counts, level) for group in groups)]
    return [
        {
            column_words(by): value_words(group.value, by),
            "captures": group.counts.captures,
            **{level: getattr(group.counts, level) for level in used},
            "error rate": share_words(group.counts),
        }
        for group in groups
    ]


def summary_lines(summary: Summary, *, groups: tuple[str, Sequence[Group]] | None = None) -> list[str]:
    """The summary as the commands print it; grouped by version, or by another column."""
    lines = [summary.sentence]
    by, shown_groups = groups or ("version", summary.versions)
    if shown_groups:
        lines += ["", *group_lines(by, shown_groups)]
    if summary.kinds:
        rows = [
            {
                "kind": kind_and_key(tally.value),
                "captures": number(tally.captures),
                "findings": number(tally.findings),
                "versions": version_words(tally),
            }
            for tally in summary.kinds
        ]
        lines += ["", *table_lines(rows)]
    if summary.causes:
        lines += ["", "causes"]
        for tally in summary.causes[:_TALLIES]:
            title = cause_title(tally.value)
            lines.append(f"  {title or tally.value} ({tally.value})")
            lines.append(f"    {count(tally.captures, 'capture')} with {version_words(tally)}")
            if fix := cause_fix(tally.value, tally.releases):
                lines.append(f"    fix: {fix}")
        if (more := len(summary.causes) - _TALLIES) > 0:
            lines.append(f"  {count(more, 'more cause')}, see --group-by finding_cause")
    if summary.unread:
        lines += ["", "files that could not be read"]
        lines += [f"  {row['name']}: {row['error']}" for row in summary.unread]
        if (more := summary.counts.unread - len(summary.unread)) > 0:
            lines.append(f"  {count(more, 'more file')}")
    return lines


def group_lines(by: str, groups: Sequence[Group]) -> list[str]:
    """A table of groups."""
    return table_lines(
        [
            {name: number(value) if isinstance(value, int) else value for name, value in row.items()}
            for row in group_cells(by, groups)
        ]
    )


def row_lines(row: dict[str, Any], findings: Sequence[dict[str, Any]] = ()) -> list[str]:
    """One capture as the commands list it."""
    place = place_words(row)
    facts = [
        f"version {row['version']}" if row["version"] else "version unknown",
        row["endpoint"],
        None if row["tokens"] is None else count(row["tokens"], "token"),
        row["day"],
        row["cause"],
    ]
    lines = [place, f"  {row['verdict'].upper()}: {row['sentence']}"]
    if row["error"] is None:
        lines.append(f"  {' · '.join(fact for fact in facts if fact)}")
    lines += [
        f"  {finding['severity']:7} {kind_and_key(finding['kind'])}: {finding['message']}"
        for finding in findings
    ]
    return lines


def place_words(row: dict[str, Any]) -> str:
    """Where a capture is: a path from the working directory where it is below that, or a URL."""
    path = row["path"]
    own = os.path.join(os.getcwd(), "")
    words = path.removeprefix(own)
    if row["member"] is not None:
        words += f" · {row['member']}"
    return f"{words} #{row['number']}" if row["name"].endswith(f"#{row['number']}") else words


def table_lines(rows: Sequence[dict[str, str]]) -> list[str]:
    """Aligned columns: the first and the last to the left, the others to the right."""
    names = list(rows[0])
    cells = [names, *([row[name] for name in names] for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(names))]
    last = len(names) - 1
    to_the_left = {0, last} if not rows[0][names[last]].rstrip("%").replace(".", "").isdigit() else {0}
    return [
        "  ".join(
            cell.ljust(widths[place]) if place in to_the_left else cell.rjust(widths[place])
            for place, cell in enumerate(line)
        ).rstrip()
        for line in cells
    ]


def summary_row(summary: Summary, *, groups: tuple[str, Sequence[Group]] | None = None) -> dict[str, Any]:
    """The summary as `--json` has it."""
    by, shown_groups = groups or ("version", summary.versions)
    return {
        "sentence": summary.sentence,
        "complete": summary.complete,
        "captures": summary.counts.captures,
        "verdicts": _levels(summary.counts),
        "deliveries": {delivery.value: summary.counts.deliveries.get(delivery, 0) for delivery in Delivery},
        "findings": dict(summary.severities),
        "grouped_by": by,
        "groups": [
            {"value": group.value, "captures": group.counts.captures, **_levels(group.counts)}
            for group in shown_groups
        ],
        "kinds": [_tally(tally) for tally in summary.kinds],
        "causes": [_cause(tally) for tally in summary.causes],
        "unread": [
            {"path": row["path"], "member": row["member"], "error": row["error"]} for row in summary.unread
        ],
    }


def _levels(counts: Counts) -> dict[str, int]:
    return {level: getattr(counts, level) for level in _LEVELS}


def _cause(tally: Tally) -> dict[str, Any]:
    texts = {"title": cause_title(tally.value), "fix": cause_fix(tally.value, tally.releases)}
    return _tally(tally) | texts


def _tally(tally: Tally) -> dict[str, Any]:
    versions = [{"version": version, "captures": captures} for version, captures in tally.versions]
    return {
        "value": tally.value,
        "captures": tally.captures,
        "findings": tally.findings,
        "versions": versions,
    }


def version_words(tally: Tally) -> str:
    """The versions with most captures of a kind or cause."""
    versions = [
        f"{version or 'unknown version'} ({number(captures)})" for version, captures in tally.versions
    ]
    more = f", {count(len(versions) - _VERSIONS, 'more version')}" if len(versions) > _VERSIONS else ""
    return ", ".join(versions[:_VERSIONS]) + more
