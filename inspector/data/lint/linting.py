"""A table is checked row by row; what is kept is bounded."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, assert_never

from inspector.analysis.audit.kinds import Severity
from inspector.capture.bounds import FINDINGS
from inspector.capture.errors import CaptureError
from inspector.capture.formats import clip, count, listed, number
from inspector.data.lint.advice import amount, level
from inspector.data.lint.answers import check_answer, check_plain
from inspector.data.lint.columns import Column, Form, detect, text_paths, values_in
from inspector.data.lint.finding import Flaw, LintFinding, Unit
from inspector.data.lint.messages import check_messages, is_messages
from inspector.data.lint.padding import RUN, is_padded
from inspector.data.lint.rendered import Ending, Rendered, check_ids, check_text
from inspector.data.lint.rows import LintRow, LintTable, open_table
from inspector.data.lint.rules import RULES, Rule
from inspector.data.lint.structure import SHOWN, Part
from inspector.protocol.harmony.markup import first_spelled

_LOOKED_AT: Final = 32
"""LintRows by which columns are recognized."""
_UNITS: Final = {
    Form.TEXT: Unit.CHARACTER,
    Form.ANSWER: Unit.CHARACTER,
    Form.MESSAGES: Unit.CHARACTER,
    Form.IDS: Unit.TOKEN,
}


@dataclass(slots=True)
class ColumnRead:
    """How much of a column was read."""

    column: Column
    rows: int = 0
    """LintRows that have a value in it."""
    values: int = 0
    """Values that were checked: a row may have several."""
    plain: int = 0
    """Those of rendered text that have no special token, which are checked for transcripts only."""

    @property
    def words(self) -> str:
        """What was taken as what, and how much of it."""
        parts = [count(self.values, "value")]
        if self.plain == self.values > 0:
            parts.append("none with special tokens")
        elif self.plain:
            parts.append(f"{number(self.values - self.plain)} with special tokens")
        return f"“{self.column.name}” as {self.column.form.words} ({', '.join(parts)})"

    @property
    def as_row(self) -> dict[str, Any]:
        """The same for `--json`."""
        return {
            "name": self.column.name,
            "form": str(self.column.form),
            "rows": self.rows,
            "values": self.values,
            "plain": self.plain,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LintReport:
    """What the check of one file came to."""

    name: str
    format: str
    read: tuple[ColumnRead, ...]
    rows: int
    flawed_rows: int
    findings: tuple[LintFinding, ...]
    """The first ones in row order, up to the limit; `counts` has all."""
    counts: Mapping[Rule, int]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that were taken."""
        return tuple(read.column for read in self.read)

    @property
    def values(self) -> int:
        """Values that were checked: a row may have several, or none."""
        return sum(read.values for read in self.read)

    @property
    def found(self) -> int:
        """How many findings there are, listed or not."""
        return sum(self.counts.values())

    def of(self, severity: Severity) -> int:
        """How many of a severity."""
        return amount(self.counts, RULES, severity)

    @property
    def level(self) -> str:
        """`error`, `warning`, `unknown` where nothing was checked, else `ok`."""
        return level(self.counts, RULES, checked=self.values > 0)

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        if not self.counts:
            if not self.values:
                return "Nothing was checked: the columns are empty in all rows."
            return f"No finding in {count(self.rows, 'row')}."
        kinds = [
            count(number_of, word)
            for word, number_of in (
                ("error", self.of(Severity.ERROR)),
                ("warning", self.of(Severity.WARNING)),
            )
            if number_of
        ]
        of = f"{number(self.flawed_rows)} of {count(self.rows, 'row')}"
        verb = "has" if self.flawed_rows == 1 else "have"
        return f"{of} {verb} findings: {listed(kinds)}."

    @property
    def taken(self) -> str:
        """What was taken as what, in one sentence."""
        read_words = listed([read.words for read in self.read])
        return f"Read {count(self.rows, 'row')} as {self.format}: {read_words}."

    @property
    def as_row(self) -> dict[str, Any]:
        """All of it for `--json`."""
        return {
            "file": self.name,
            "format": self.format,
            "level": self.level,
            "sentence": self.sentence,
            "rows": self.rows,
            "rows_with_findings": self.flawed_rows,
            "values": self.values,
            "columns": [read.as_row for read in self.read],
            "rules": {str(rule): number_of for rule, number_of in self.counts.items()},
            "findings_count": self.found,
            "findings": [finding.as_row for finding in self.findings],
        }


def lint(
    path: Path | str,
    *,
    columns: Sequence[Column] = (),
    training: bool = False,
    max_findings: int = FINDINGS,
) -> LintReport:
    """Check a file of training data or of an evaluation; `-` is standard input.

    Without `columns` they are recognized. With `training` every row must end its last final answer in
    `<|return|>`. Raises InspectorError where the file cannot be read or has no column that can be checked.
    """
    with open_table(path) as table:
        return lint_table(table, columns=columns, training=training, max_findings=max_findings)


def lint_table(
    table: LintTable,
    *,
    columns: Sequence[Column] = (),
    training: bool = False,
    max_findings: int = FINDINGS,
) -> LintReport:
    """Check the rows of a table."""
    head = list(islice(table.rows, _LOOKED_AT))
    if not columns and any(row.values is not None and "harmony_capture" in row.values for row in head):
        raise CaptureError(table.name, "is a capture; check it with the command audit")
    read_columns = tuple(columns) or tuple(detect([row.values for row in head if row.values is not None]))
    if not read_columns:
        raise _no_columns(table.name, head)
    run = _Run(read_columns, training=training, limit=max_findings, padded=_padded(read_columns, head))
    for row in chain(head, table.rows):
        run.row(row)
    run.end()
    if missing := [column.name for column in columns if column not in run.filled]:
        raise CaptureError(
            table.name, f"no row has a value in {listed(missing)}; its columns are {_keys(head)}"
        )
    return LintReport(
        name=table.name,
        format=table.format,
        read=tuple(run.read.values()),
        rows=run.rows,
        flawed_rows=run.flawed,
        findings=tuple(sorted(run.findings, key=lambda finding: finding.row)),
        counts=dict(run.counts.most_common()),
    )


def _no_columns(name: str, head: Sequence[LintRow]) -> CaptureError:
    if not head:
        return CaptureError(name, "has no rows")
    if not (keys := _keys(head)):
        problem = head[0].problem or "it is empty"
        why = f"has no row that can be read ({problem}); pass JSON Lines, JSON or Parquet"
        return CaptureError(name, why)
    return CaptureError(
        name,
        f"no column was recognized; its columns are {keys}. "
        "Name one with --text, --messages, --ids or --answer",
    )


def _padded(columns: Sequence[Column], head: Sequence[LintRow]) -> set[Column]:
    """The columns whose first rows show that they are padded with `<|return|>`."""
    rows = [row.values for row in head if row.values is not None]
    return {
        column
        for column in columns
        if column.form is Form.IDS
        and any(is_padded(value) for row in rows for _, value in values_in(row, column))
    }


def _keys(head: Iterable[LintRow]) -> str:
    """The columns of the first rows, as a list to read."""
    rows = [row.values for row in head if row.values is not None]
    keys = text_paths(rows) or list(dict.fromkeys(key for values in rows for key in values))
    return clip(", ".join(keys), 300)


@dataclass(slots=True)
class _Endings:
    """How the last final answers of a column end."""

    returns: int = 0
    ends: int = 0
    first: LintFinding | None = None
    """The first that ends in `<|end|>`."""
    flawed: bool = False
    """True where the row of `first` has other findings."""


@dataclass(slots=True)
class _Run:
    columns: Sequence[Column]
    training: bool = field(kw_only=True)
    limit: int = field(kw_only=True)
    padded: Container[Column] = field(kw_only=True)
    """Columns that are padded with `<|return|>`."""
    rows: int = 0
    flawed: int = 0
    findings: list[LintFinding] = field(default_factory=list)
    counts: Counter[Rule] = field(default_factory=Counter)
    endings: dict[str, _Endings] = field(default_factory=dict)
    filled: set[Column] = field(default_factory=set)
    """Named columns that some row has, if only empty."""
    read: dict[Column, ColumnRead] = field(init=False)

    def __post_init__(self) -> None:
        self.read = {column: ColumnRead(column) for column in self.columns}

    def row(self, row: LintRow) -> None:
        """Check one row."""
        self.rows += 1
        if row.values is None:
            self._add(
                Flaw(rule=Rule.UNREADABLE_ROW, note=f"Row {number(row.number)}: {row.problem}."),
                row,
                None,
            )
            self.flawed += 1
            return
        before = self.counts.total()
        parts: list[tuple[Column, Sequence[Part]]] = []
        pending: list[str] = []
        for column in self.columns:
            read = self.read[column]
            before_column = read.values
            for place, value in values_in(row.values, column):
                self.filled.add(column)
                if _is_empty(value, column.form):
                    continue
                read.values += 1
                for flaw in self._value(value, column, row, parts, pending):
                    self._add(flaw, row, column, place)
            read.rows += read.values > before_column
        for column, rendered_parts in parts:
            for flaw in _dropped(rendered_parts, pending):
                self._add(flaw, row, column)
        flawed = self.counts.total() > before
        self.flawed += flawed
        for endings in self.endings.values():
            if endings.first is not None and endings.first.row == row.number:
                endings.flawed = flawed

    def end(self) -> None:
        """Say what only the whole column shows."""
        flawed = set[int]()
        for endings in self.endings.values():
            first = endings.first
            if endings.returns and first is not None:
                note = f"{number(endings.returns)} end in <|return|>, {number(endings.ends)} in <|end|>."
                self.counts[Rule.MIXED_ENDINGS] += 1
                if not endings.flawed and first.row not in flawed:
                    flawed.add(first.row)
                    self.flawed += 1
                self._keep(replace(first, rule=Rule.MIXED_ENDINGS, note=note))

    def _value(
        self,
        value: object,
        column: Column,
        row: LintRow,
        parts: list[tuple[Column, Sequence[Part]]],
        pending: list[str],
    ) -> Iterator[Flaw]:
        match column.form:
            case Form.TEXT:
                if not isinstance(value, str):
                    yield from self._unread(value, column)
                elif first_spelled(value) is None:
                    self.read[column].plain += 1
                    yield from check_plain(value)
                else:
                    yield from self._rendered(check_text(value), column, row, parts)
            case Form.IDS:
                if isinstance(value, list) and all(type(token_id) is int for token_id in value):
                    rendered = check_ids(value, run=2 if column in self.padded else RUN)
                    yield from self._rendered(rendered, column, row, parts)
                else:
                    yield from self._unread(value, column)
            case Form.MESSAGES:
                if not isinstance(value, list) or not is_messages(value):
                    yield from self._unread(value, column)
                else:
                    chat = check_messages(value)
                    pending += chat.pending
                    yield from chat.flaws
            case Form.ANSWER:
                if isinstance(value, str):
                    yield from check_answer(value)
            case _:
                assert_never(column.form)

    def _unread(self, value: object, column: Column) -> Iterator[Flaw]:
        self.read[column].values -= 1
        yield Flaw(rule=Rule.WRONG_FORM, note=f"It is {_json_type(value)}.")

    def _rendered(
        self, rendered: Rendered, column: Column, row: LintRow, parts: list[tuple[Column, Sequence[Part]]]
    ) -> Iterator[Flaw]:
        parts.append((column, rendered.parts))
        yield from rendered.flaws
        if rendered.ending is None:
            return
        endings = self.endings.setdefault(column.name, _Endings())
        if rendered.ending is Ending.RETURN:
            endings.returns += 1
        elif rendered.last is not None and (self.training or rendered.completion):
            yield rendered.last
        elif rendered.last is not None:
            endings.ends += 1
            endings.first = endings.first or _finding(rendered.last, row, column)

    def _add(self, flaw: Flaw, row: LintRow, column: Column | None, path: str = "") -> None:
        self.counts[flaw.rule] += 1
        if len(self.findings) < self.limit:
            self._keep(_finding(flaw, row, column, path))

    def _keep(self, finding: LintFinding) -> None:
        if len(self.findings) < self.limit:
            self.findings.append(finding)


def _finding(flaw: Flaw, row: LintRow, column: Column | None, path: str = "") -> LintFinding:
    name = "" if column is None else column.name
    return LintFinding(
        path=path or name,
        rule=flaw.rule,
        row=row.number,
        column=name,
        message=flaw.message,
        unit=None if column is None or flaw.at is None else _UNITS[column.form],
        at=flaw.at,
        excerpt=flaw.excerpt,
        note=flaw.note,
    )


def _is_empty(value: object, form: Form) -> bool:
    """True for a value without anything to check; an empty scored text is a finding."""
    if form is Form.ANSWER:
        return not isinstance(value, str)  # a score, or the parts of a message
    return value in ("", [], {})


def _dropped(parts: Sequence[Part], pending: Sequence[str]) -> Iterator[Flaw]:
    """Reasoning that the row's messages have before an unanswered tool call, and its rendering lacks."""
    reasoning = {part.text.strip() for part in parts if part.is_analysis}
    call = next((part for part in reversed(parts) if part.is_call), None)
    lost = [text for text in pending if text not in reasoning]
    if call is not None and lost:
        yield Flaw(rule=Rule.ANALYSIS_DROPPED, at=call.at, message=call.message, excerpt=clip(lost[0], SHOWN))


def _json_type(value: object) -> str:
    """The type of a value in JSON's words."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case dict():
            return "an object"
        case _:
            return "an array"
