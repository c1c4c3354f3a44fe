"""Shared by `lint` and `rollout`: reports as lines, and the exit code."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from inspector.capture.formats import number
from inspector.commands.shared import FailOn, fails
from inspector.commands.terminal import Heading, Row, Verdict, aligned, say
from inspector.data.lint import Advice

K = TypeVar("K", bound=str)


class _Report(Protocol):
    """The result of checking one file."""

    @property
    def name(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def sentence(self) -> str: ...
    @property
    def taken(self) -> str: ...


def report_lines(
    report: _Report,
    rows: Sequence[Sequence[str]],
    unlisted: str,
    counts: Mapping[K, int],
    table: Mapping[K, Advice],
) -> Iterator[str]:
    """The sentence, the rows below their headings, and what each rule or cause means, most first.

    `unlisted` says how many rows are not listed; empty if all are.
    """
    yield Heading(report.name)
    yield Verdict(f"  {report.level.upper()}: {report.sentence}")
    yield f"  {report.taken}"
    if len(rows) > 1:
        yield from (Row(f"  {line}") for line in aligned(rows))
    if unlisted:
        yield f"  {unlisted} not listed; see --max-findings"
    for key, amount in sorted(counts.items(), key=lambda pair: -pair[1]):
        yield f"  {key} ({number(amount)}): {table[key].what}"
        yield f"    Fix: {table[key].remedy}"


def say_reports(reports: Iterable[Iterable[str]]) -> None:
    """Print the lines of reports with an empty line between two."""
    for place, lines in enumerate(reports):
        say(["", *lines] if place else lines)


def exit_code(advices: Iterable[Advice], level: FailOn) -> int:
    """1 if a finding has at least the severity of `--fail-on`, else 0."""
    return int(any(fails(advice.severity, level) for advice in advices))
