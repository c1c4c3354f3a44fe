"""Shared by `lint` and `rollout`: reports as lines and as test cases, and the exit code."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from inspector.capture.formats import number
from inspector.commands.shared import FailOn, fails
from inspector.commands.terminal import Heading, Row, Verdict, aligned, say
from inspector.data.lint import Advice
from inspector.views.junit import Fate, JUnitCase, junit

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
    @property
    def counts(self) -> Mapping[Any, int]: ...


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


def checks_junit(
    suite: str,
    reports: Iterable[_Report],
    table: Mapping[K, Advice],
    level: FailOn,
    unread: Iterable[tuple[str, str]] = (),
) -> str:
    """A test case for each file: failed as the exit code says, an error where nothing was checked."""
    cases = []
    for report in reports:
        fate: Fate | None = "failure" if exit_code((table[key] for key in report.counts), level) else None
        if report.level == "unknown":
            fate = "error"
        what = [f"{key} ({number(amount)}): {table[key].what}" for key, amount in report.counts.items()]
        text = "\n".join([report.taken, *what])
        cases.append(JUnitCase(suite, report.name, fate, ", ".join(report.counts), report.sentence, text))
    cases += [JUnitCase(suite, file, "error", "unreadable", sentence) for file, sentence in unread]
    return junit("Harmony Inspector", cases)


def exit_code(advices: Iterable[Advice], level: FailOn) -> int:
    """1 if a finding has at least the severity of `--fail-on`, else 0."""
    return int(any(fails(advice.severity, level) for advice in advices))
