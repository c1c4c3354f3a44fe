"""What an archive shows, in words: the sentence first, then tables; for the commands and the page."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from inspector.analysis.audit.kinds import kind_and_key
from inspector.capture.formats import count, number
from inspector.data.scan.library import Counts, Group, Library, Tally
from inspector.issues import Situation, first_step, issues
from inspector.issues.versions import as_version

_VERSIONS: Final = 3
_TALLIES: Final = 12
_UNREAD: Final = 5
_SEARCHED: Final = " The filter is searched as words."
_LEVELS: Final = ("clean", "warning", "error", "unknown", "unread")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What the captures of a filter come to."""

    sentence: str
    counts: Counts
    severities: Mapping[str, int]
    """Findings by severity."""
    versions: Sequence[Group]
    kinds: Sequence[Tally]
    causes: Sequence[Tally]
    unread: Sequence[dict[str, Any]]
    """The first files that could not be read."""


def summarise(library: Library, words: str = "") -> Summary:
    """The summary of the captures that a filter keeps."""
    counts = library.counts(words)
    versions = library.groups("version", words)
    return Summary(
        sentence=_sentence(counts, versions, library.first_error(words), filtered=bool(words.strip()))
        + ("" if not words.strip() or library.is_expression(words) else _SEARCHED),
        counts=counts,
        severities=library.severities(words),
        versions=versions,
        kinds=library.tallies("kind", words),
        causes=library.tallies("finding_cause", words),
        unread=library.unread(words, limit=_UNREAD) if counts.unread else [],
    )


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
        told = f"{number(counts.error)} of {captures} {verb} errors ({share_words(counts)}){_since(*first)}"
        told += _worst_version(counts, versions)
    else:
        told = f"None of {captures} has errors"
        if counts.warning:
            told += f"; {number(counts.warning)} {'has' if counts.warning == 1 else 'have'} warnings"
    if counts.unknown:
        told += f"; the verdict of {number(counts.unknown)} is unknown"
    return f"{told}. {unread}".rstrip()


def _since(day: str | None, undated: int) -> str:
    """Since when there are errors, as far as the captures have dates."""
    if day is None:
        return ""
    return f", the first with a known date on {day}" if undated else f", the first on {day}"


def _worst_version(counts: Counts, versions: Sequence[Group]) -> str:
    """The version with more errors than any other, where there is one and it is known."""
    ranked = sorted(versions, key=lambda group: -group.counts.error)
    if sum(group.value is not None and group.counts.captures > 0 for group in ranked) < 2:
        return ""
    worst, second = ranked[:2]
    if worst.value is None or worst.counts.error == second.counts.error:
        return ""
    words = f"({number(worst.counts.error)} of {number(worst.counts.captures)})"
    if 2 * worst.counts.error > counts.error:
        return f"; most are from version {worst.value} {words}"
    return f"; version {worst.value} has the most {words}"


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
    known = [(number, version) for version in versions if version and (number := as_version(version))]
    newest = max(known)[1] if known else None
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


def summary_lines(found: Summary, *, groups: tuple[str, Sequence[Group]] | None = None) -> list[str]:
    """The summary as the commands print it; grouped by version, or by another column."""
    lines = [found.sentence]
    by, some = groups or ("version", found.versions)
    if some:
        lines += ["", *group_lines(by, some)]
    if found.kinds:
        rows = [
            {
                "kind": kind_and_key(one.value),
                "captures": number(one.captures),
                "findings": number(one.findings),
                "versions": version_words(one),
            }
            for one in found.kinds
        ]
        lines += ["", *table_lines(rows)]
    if found.causes:
        lines += ["", "causes"]
        for one in found.causes[:_TALLIES]:
            title = cause_title(one.value)
            lines.append(f"  {title or one.value} ({one.value})")
            lines.append(f"    {count(one.captures, 'capture')} with {version_words(one)}")
            if fix := cause_fix(one.value, one.releases):
                lines.append(f"    fix: {fix}")
        if (more := len(found.causes) - _TALLIES) > 0:
            lines.append(f"  {count(more, 'more cause')}, see --group-by finding_cause")
    if found.unread:
        lines += ["", "files that could not be read"]
        lines += [f"  {row['name']}: {row['error']}" for row in found.unread]
        if (more := found.counts.unread - len(found.unread)) > 0:
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
    lines += [f"  {one['severity']:7} {kind_and_key(one['kind'])}: {one['message']}" for one in findings]
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
    left = {0, last} if not rows[0][names[last]].rstrip("%").replace(".", "").isdigit() else {0}
    return [
        "  ".join(
            cell.ljust(widths[place]) if place in left else cell.rjust(widths[place])
            for place, cell in enumerate(line)
        ).rstrip()
        for line in cells
    ]


def summary_row(found: Summary, *, groups: tuple[str, Sequence[Group]] | None = None) -> dict[str, Any]:
    """The summary as `--json` has it."""
    by, some = groups or ("version", found.versions)
    return {
        "sentence": found.sentence,
        "captures": found.counts.captures,
        "verdicts": _levels(found.counts),
        "findings": dict(found.severities),
        "grouped_by": by,
        "groups": [
            {"value": one.value, "captures": one.counts.captures, **_levels(one.counts)} for one in some
        ],
        "kinds": [_tally(one) for one in found.kinds],
        "causes": [_cause(one) for one in found.causes],
        "unread": [
            {"path": row["path"], "member": row["member"], "error": row["error"]} for row in found.unread
        ],
    }


def _levels(counts: Counts) -> dict[str, int]:
    return {level: getattr(counts, level) for level in _LEVELS}


def _cause(one: Tally) -> dict[str, Any]:
    told = {"title": cause_title(one.value), "fix": cause_fix(one.value, one.releases)}
    return _tally(one) | told


def _tally(one: Tally) -> dict[str, Any]:
    versions = [{"version": version, "captures": captures} for version, captures in one.versions]
    return {"value": one.value, "captures": one.captures, "findings": one.findings, "versions": versions}


def version_words(one: Tally) -> str:
    """The versions with most captures of a kind or cause."""
    shown = [f"{version or 'unknown version'} ({number(captures)})" for version, captures in one.versions]
    more = f", {count(len(shown) - _VERSIONS, 'more version')}" if len(shown) > _VERSIONS else ""
    return ", ".join(shown[:_VERSIONS]) + more
