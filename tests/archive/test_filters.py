"""The filter language: every text is a filter or an error with its place, and no text reaches SQL."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, assert_never

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.archive import FilterError, Library, narrowed, parse_filter, quoted
from inspector.archive.columns import Table, Type, version_order
from inspector.archive.filters import (
    COLUMNS,
    And,
    Comparison,
    Expression,
    Finding,
    In,
    Not,
    Op,
    Or,
    Value,
)
from inspector.archive.sql import where
from inspector.store import FIXTURES
from tests.support.archives import rows_in, scanned
from tests.support.builtin import CAPTURES

CAPTURE_NAMES = sorted(name for name, one in COLUMNS.items() if one.table is Table.CAPTURES)
FINDING_NAMES = sorted(name for name, one in COLUMNS.items() if one.table is Table.FINDINGS)

ATTACKS = (
    "' OR 1=1 --",
    '"; DROP TABLE captures; --',
    "'); COPY captures TO '/tmp/x.csv'; --",
    "\\",
    "?",
    "$1",
    "%",
    "\x00",
    "{x}",
)

TEXTS = st.one_of(
    st.sampled_from([*ATTACKS, "dropped", "error", "chat", "0.14.1", "0.9", "final"]), st.text(max_size=8)
).map(lambda text: text.encode("utf-8", "replace").decode("utf-8"))
MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1))


def values(name: str) -> st.SearchStrategy[Value]:
    column = COLUMNS[name]
    match column.type:
        case Type.TEXT | Type.VERSION:
            return st.sampled_from(column.values) if column.values else TEXTS
        case Type.NUMBER:
            return st.integers(-(2**62), 2**62) | st.integers(0, 40)
        case Type.DECIMAL:
            return st.floats(-1e9, 1e9, allow_nan=False, allow_subnormal=False).map(lambda one: one + 0.0)
        case Type.TIME:
            return MOMENTS
        case _:
            assert_never(column.type)


@st.composite
def atoms(draw: st.DrawFn, names: Sequence[str]) -> Expression:
    name = draw(st.sampled_from(names))
    column = COLUMNS[name]
    if draw(st.booleans()):
        some = draw(st.lists(st.none() | values(name), min_size=1, max_size=3))
        return In(column, tuple(some))
    textual = [Op.CONTAINS, Op.STARTS] if column.type in {Type.TEXT, Type.VERSION} else []
    op = draw(st.sampled_from([*(one for one in Op if one not in {Op.CONTAINS, Op.STARTS}), *textual]))
    if op in {Op.EQUAL, Op.UNEQUAL}:
        return Comparison(column, op, draw(st.none() | values(name)))
    return Comparison(column, op, draw(values(name)))


def wider(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    parts = st.lists(inner, min_size=2, max_size=3)
    return st.one_of(inner.map(Not), parts.map(_and), parts.map(_or))


def _and(parts: Sequence[Expression]) -> Expression:
    return And(tuple(inner for one in parts for inner in (one.parts if isinstance(one, And) else (one,))))


def _or(parts: Sequence[Expression]) -> Expression:
    return Or(tuple(inner for one in parts for inner in (one.parts if isinstance(one, Or) else (one,))))


IN_FINDING = st.recursive(atoms(FINDING_NAMES), wider, max_leaves=4)
EXPRESSIONS = st.recursive(
    st.one_of(atoms(CAPTURE_NAMES), atoms(FINDING_NAMES), IN_FINDING.map(Finding)), wider, max_leaves=6
)


def text_of(one: Expression) -> str:
    """A filter as a person would write it."""
    match one:
        case Comparison(column, op, value):
            return f"{column.name} {op} {quoted(value)}"
        case In(column, some):
            return f"{column.name} in ({', '.join(map(quoted, some))})"
        case Not(part):
            return f"not {_in_brackets(part)}"
        case And(parts):
            return " and ".join(map(_in_brackets, parts))
        case Or(parts):
            return " or ".join(map(_in_brackets, parts))
        case Finding(part):
            return f"finding({text_of(part)})"
        case _:
            assert_never(one)


def _in_brackets(one: Expression) -> str:
    return f"({text_of(one)})" if isinstance(one, And | Or) else text_of(one)


@given(EXPRESSIONS)
def test_a_filter_is_read_as_it_was_written(expression: Expression) -> None:
    assert parse_filter(text_of(expression)) == expression


WORDS = (
    'kind == "dropped" and or not ( ) tokens > 5 in , null finding contains \' " version \\ - 1e9 = nothing'
)


@given(st.text(max_size=60) | st.lists(st.sampled_from(WORDS.split())).map(" ".join))
def test_any_text_is_a_filter_or_an_error_with_its_place(text: str) -> None:
    error = refusal(text)
    if error is not None:
        assert 0 <= error.at <= len(text)
        assert f"character {error.at + 1}: " in str(error)


def refusal(text: str) -> FilterError | None:
    try:
        where(parse_filter(text))
    except FilterError as error:
        return error
    return None


@given(EXPRESSIONS)
def test_no_value_is_ever_part_of_the_sql(expression: Expression) -> None:
    if refusal(text_of(expression)) is not None:
        return
    made = where(expression)
    assert made.sql.count("?") == len(made.parameters)
    assert set(made.sql) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.,()<>=? ")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("knd == 1", "character 1: no column knd; did you mean kind?"),
        ('kind == "no API field"', 'kind is never "no API field"; did you mean unserved?'),
        ('kind == "droped"', 'character 9: kind is never "droped"; did you mean dropped?'),
        ("tokens = 5", "character 8: use == to compare"),
        ('tokens > "5"', "character 10: tokens is a number; leave out the quotes"),
        ("model == gpt", 'character 10: expected a value, found gpt; texts need quotes: "gpt"'),
        ("model == 5", 'character 10: model is a text; it needs quotes: "5"'),
        ("tokens >", "character 9: expected a value, found the end of the filter"),
        ("tokens > 1 tokens < 5", "character 12: expected and, or, or the end of the filter, found tokens"),
        ("(tokens > 1", "character 12: expected ), found the end of the filter"),
        ('name == "x', "character 9: the text has no closing quote"),
        ("tokens > null", "character 10: null can only be compared with == and !=, not with >"),
        ("tokens && 1", "character 8: use and, or, not"),
        ("tokens contains 5", "character 8: contains needs a text, and tokens is a number"),
        ('started_at > "noon"', 'character 14: started_at is a time, e.g. "2026-11-22" or "2026-'),
        ("tokens > 1e300", "character 10: the number is too large"),
        ("tokens > " + "9" * 3000, "character 10: the number is too large"),
        ("finding(tokens > 5)", "character 9: tokens is a column of captures, and finding(...) is about"),
        ("finding(finding(token == 1))", "character 9: finding(...) cannot contain another one"),
        ("tokens not 5", "character 12: expected in after not, found 5"),
        ("(" * 60, "character 41: nested more than 40 times"),
        ("x" * 5000, "character 4001: longer than 4,000 characters"),
        ("capture == 1", "no column capture"),
    ],
)
def test_errors_name_the_place_and_what_was_meant(text: str, told: str) -> None:
    with pytest.raises(FilterError) as refused:
        parse_filter(text)
    assert told in str(refused.value)


def test_one_finding_cannot_have_two_kinds() -> None:
    with pytest.raises(FilterError, match=r"character 23: .* write finding\(kind == ...\) and finding"):
        where(parse_filter('kind == "dropped" and kind == "misrouted"'))


def test_a_finding_without_a_kind_is_not_asked_for() -> None:
    for text in ("kind == null", "finding(severity == null and token == 1)", "not code == null"):
        with pytest.raises(FilterError, match="captures without findings are those with findings == 0"):
            where(parse_filter(text))
    assert where(parse_filter("kind != null and channel == null")).sql.count("f.") == 3


@pytest.mark.parametrize(
    ("words", "narrower"),
    [
        (" ", 'kind == "misrouted"'),
        ('kind == "dropped"', 'kind == "dropped" and finding(kind == "misrouted")'),
        (
            "tokens > 5 OR tokens < 2",
            '(tokens > 5 OR tokens < 2) and finding(kind == "misrouted")',
        ),
    ],
)
def test_a_group_narrows_any_filter(words: str, narrower: str, library: Library) -> None:
    text = narrowed(words, "kind", "misrouted")
    assert text == narrower
    kept = {row["id"] for row in library.rows(text)}
    both = {row["id"] for row in library.rows(words)} & {
        row["id"] for row in library.rows('kind == "misrouted"')
    }
    assert kept == both != set()


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scan")
    scanned(folder, FIXTURES / "*.jsonl", FIXTURES / "logs")
    return folder


@pytest.fixture(scope="module")
def library(out: Path) -> Iterator[Library]:
    with Library(out) as library:
        yield library


@pytest.fixture(scope="module")
def rows(out: Path) -> tuple[list[dict[str, Any]], dict[str, list[dict[str, Any]]]]:
    findings: dict[str, list[dict[str, Any]]] = {}
    for one in rows_in(out, Table.FINDINGS):
        findings.setdefault(one["capture"], []).append(one)
    return rows_in(out), findings


def holds(one: Expression, row: dict[str, Any]) -> bool:
    """What a filter means for one row, in Python; `row` has the columns of one table."""
    match one:
        case Comparison(column, op, value):
            return _compared(row[column.name], op, value, ordered=column.type is Type.VERSION)
        case In(column, some):
            return row[column.name] in some
        case Not(part):
            return not holds(part, row)
        case And(parts):
            return all(holds(part, row) for part in parts)
        case Or(parts):
            return any(holds(part, row) for part in parts)
        case Finding(part):
            return holds(part, row)
        case _:
            assert_never(one)


def _compared(found: Any, op: Op, value: Any, *, ordered: bool) -> bool:
    if op is Op.EQUAL or op is Op.UNEQUAL:
        return (found == value) is (op is Op.EQUAL)
    if found is None:
        return False
    if op is Op.CONTAINS:
        return value.lower() in found.lower()
    if op is Op.STARTS:
        return bool(found.lower().startswith(value.lower()))
    if ordered:
        found, value = version_order(found), version_order(value)
    if isinstance(found, str):  # DuckDB compares the bytes
        found, value = found.encode(), value.encode()
    answers = {Op.BELOW: found < value, Op.AT_MOST: found <= value, Op.ABOVE: found > value}
    return bool(answers.get(op, found >= value))


def of_capture(one: Expression, row: dict[str, Any], findings: list[dict[str, Any]]) -> bool:
    """What a filter means for a capture with its findings, as docs/scan.md has it."""
    if about_one_finding(one):
        return any(holds(one, finding) for finding in findings)
    match one:
        case Comparison() | In():
            return holds(one, row)
        case Not(part):
            return not of_capture(part, row, findings)
        case And(parts):
            same = [part for part in parts if about_one_finding(part)]
            found = not same or any(all(holds(part, one) for part in same) for one in findings)
            return found and all(of_capture(part, row, findings) for part in parts if part not in same)
        case Or(parts):
            return any(of_capture(part, row, findings) for part in parts)
        case Finding(part):
            return any(holds(part, finding) for finding in findings)
        case _:
            assert_never(one)


def about_one_finding(one: Expression) -> bool:
    match one:
        case Comparison(column) | In(column):
            return column.table is Table.FINDINGS
        case And(parts) | Or(parts):
            return all(map(about_one_finding, parts))
        case Not() | Finding():
            return False
        case _:
            assert_never(one)


@given(expression=EXPRESSIONS)
def test_a_filter_keeps_what_python_would_keep(
    expression: Expression,
    library: Library,
    rows: tuple[list[dict[str, Any]], dict[str, list[dict[str, Any]]]],
) -> None:
    captures, findings = rows
    text = text_of(expression)
    if (error := refusal(text)) is not None:
        assert "one finding has only one" in error.why or "every finding has a" in error.why
        return
    kept = {row["id"] for row in library.rows(text, limit=1000)}
    expected = {row["id"] for row in captures if of_capture(expression, row, findings.get(row["id"], []))}
    assert kept == expected, text


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_a_text_like_any_other(attack: str, library: Library) -> None:
    for column in ("name", "path", "message", "model"):
        for op in ("==", "contains", "startswith"):
            assert library.rows(f"{column} {op} {quoted(attack)}") in ([], library.rows("", limit=0)) or (
                attack in {"\\", "?", "%", "$1", "{x}"}
            )
    assert library.counts().captures == len(CAPTURES) - 1  # one is compressed


def test_questions_about_findings(library: Library) -> None:
    def amount(text: str) -> int:
        counts = library.counts(text)
        return counts.captures + counts.unread

    everything = amount("")
    dropped, misrouted = amount('kind == "dropped"'), amount('kind == "misrouted"')
    both = amount('finding(kind == "dropped") and finding(kind == "misrouted")')
    assert 0 < both <= min(dropped, misrouted) < everything
    assert amount('kind == "dropped" or kind == "misrouted"') == dropped + misrouted - both
    assert amount('not kind == "dropped"') == everything - dropped
    assert amount('kind != "dropped"') > amount('not kind == "dropped"') - amount("findings == 0")
    assert amount('version < "0.14"') == amount('version in ("0.13.0")')
    assert amount("cause == null") + amount("cause != null") == everything
    assert amount('error != null and verdict == "unread"') == 2
