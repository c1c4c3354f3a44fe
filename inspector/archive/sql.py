"""Filters as SQL: the words come from tables of this program, every value is a bound parameter.

Comparisons have two outcomes, as in Python: where a column is null, `==` is false and `!=` is true.

A comparison of a finding's column asks whether the capture has a finding for which it holds. Those that are
joined by `and` or `or` ask about the same finding; `not` asks about the capture (no finding for which ...),
and `finding(...)` puts everything in it, `not` too, to one finding.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, assert_never

from inspector.archive.columns import Column, Table, Type, version_order
from inspector.archive.filters import (
    And,
    Comparison,
    Expression,
    FilterError,
    Finding,
    In,
    Not,
    Op,
    Or,
    Value,
)

__all__ = ["Where", "where"]

_SIGNS: Final = {
    Op.EQUAL: "=",
    Op.UNEQUAL: "<>",
    Op.BELOW: "<",
    Op.AT_MOST: "<=",
    Op.ABOVE: ">",
    Op.AT_LEAST: ">=",
}
_FUNCTIONS: Final = {Op.CONTAINS: "contains", Op.STARTS: "starts_with"}
_ORDERED: Final = frozenset({Op.BELOW, Op.AT_MOST, Op.ABOVE, Op.AT_LEAST})


class Where(NamedTuple):
    """A condition on `captures c`, and its parameters in their order."""

    sql: str
    parameters: tuple[Value, ...]


def where(expression: Expression | None) -> Where:
    """The condition of a filter; raises FilterError for one that can never hold."""
    if expression is None:
        return Where("true", ())
    return _of_capture(expression)


def _of_capture(expression: Expression) -> Where:
    if _of_findings(expression):
        return _some(expression)
    match expression:
        case Comparison() | In():
            return _plain(expression)
        case Not(part):
            inner = _of_capture(part)
            return Where(f"(NOT {inner.sql})", inner.parameters)
        case And(parts):
            theirs = tuple(part for part in parts if _of_findings(part))
            others = [_of_capture(part) for part in parts if part not in theirs]
            return _joined("AND", [*([_some(And(theirs))] if theirs else []), *others])
        case Or(parts):
            return _joined("OR", [_of_capture(part) for part in parts])
        case Finding(part):
            return _some(part)
        case _:
            assert_never(expression)


def _of_findings(expression: Expression) -> bool:
    """Whether it is about one finding as it is: no `not`, and no column of captures."""
    match expression:
        case Comparison(column) | In(column):
            return column.table is Table.FINDINGS
        case And(parts) | Or(parts):
            return all(map(_of_findings, parts))
        case Not() | Finding():
            return False
        case _:
            assert_never(expression)


def _some(expression: Expression) -> Where:
    """The capture has a finding for which it holds."""
    _possible(expression)
    inner = _plain(expression)
    return Where(f"(c.id IN (SELECT f.capture FROM findings f WHERE {inner.sql}))", inner.parameters)


def _possible(expression: Expression) -> None:
    """Raise FilterError where one column of one finding would need two values, or none and always has one."""
    seen: dict[str, Value] = {}
    for part in expression.parts if isinstance(expression, And) else (expression,):
        if isinstance(part, Comparison) and part.op is Op.EQUAL:
            name = part.column.name
            if part.value is None and part.column.values:
                why = f"every finding has a {name}; captures without findings are those with findings == 0"
                raise FilterError(part.at, why)
            if seen.setdefault(name, part.value) != part.value:
                raise FilterError(
                    part.at,
                    f"one finding has only one {name}; to ask for two findings, write finding({name} == ...) "
                    f"and finding({name} == ...)",
                )


def _plain(expression: Expression) -> Where:
    """The condition on one row of either table."""
    match expression:
        case Comparison(column, op, value):
            return _comparison(column, op, value)
        case In(column, values):
            return _joined("OR", [_comparison(column, Op.EQUAL, value) for value in values])
        case Not(part):
            inner = _plain(part)
            return Where(f"(NOT {inner.sql})", inner.parameters)
        case And(parts):
            return _joined("AND", list(map(_plain, parts)))
        case Or(parts):
            return _joined("OR", list(map(_plain, parts)))
        case Finding(part):
            return _plain(part)
        case _:
            assert_never(expression)


def _comparison(column: Column, op: Op, value: Value) -> Where:
    name = f"{'c' if column.table is Table.CAPTURES else 'f'}.{column.name}"
    if value is None:
        return Where(f"({name} IS {'NOT ' if op is Op.UNEQUAL else ''}NULL)", ())
    if op in _FUNCTIONS:
        return Where(f"coalesce({_FUNCTIONS[op]}(lower({name}), lower(?)), false)", (value,))
    if column.type is Type.VERSION and op in _ORDERED and isinstance(value, str):
        name, value = f"{name}_order", version_order(value)
    return Where(f"coalesce({name} {_SIGNS[op]} ?, {'true' if op is Op.UNEQUAL else 'false'})", (value,))


def _joined(word: str, parts: Sequence[Where]) -> Where:
    sql = f" {word} ".join(part.sql for part in parts)
    return Where(f"({sql})", tuple(value for part in parts for value in part.parameters))
