"""Filters of archives: one SQL expression over the columns of both tables, or words to search for.

    kind = 'dropped' AND tokens > 500

The text itself runs, in parentheses, where DuckDB parses it as one expression; any other is searched as
words. The connection keeps it from files, settings and other programs. What the connection cannot limit is
rejected in the tree:

- functions that make long values (`repeat`, `range`) and casts to arrays, whose memory it does not count:
  `lower(repeat(name, 300000000))` takes 4 GB within a limit of 1 GB;
- patterns of many wildcards: they and those functions end a row before they notice an interrupt;
- queries: a few words would take all cores for as long as a page may take.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from inspector.capture.errors import InspectorError
from inspector.capture.formats import clip, listed
from inspector.data.scan.columns import CAPTURE_COLUMNS, FINDING_COLUMNS, Table, Type, version_order
from inspector.protocol.wire.endpoints import endpoint_of_path

Ask = Callable[[str, Sequence[object]], list[tuple[Any, ...]]]
"""Runs a query with its parameters."""

_Node = dict[str, Any]

COLUMNS: Final = {
    name: column for name, column in {**CAPTURE_COLUMNS, **FINDING_COLUMNS}.items() if not column.hidden
}
"""What a filter may name; no name is in both tables."""

_SELECT: Final = "SELECT "
_LENGTH: Final = 2000
"""DuckDB's parser takes seconds for a text of several thousand parentheses."""
_WILDCARDS: Final = 3
"""With more, DuckDB 1 takes minutes for a text of 3,000 characters."""
_ARITHMETIC: Final = frozenset("+-*/%")
_LIKE: Final = frozenset({"~~", "!~~", "~~*", "!~~*"})
_FUNCTIONS: Final = (
    *("abs", "contains", "ends_with", "finding", "length"),
    *("lower", "mentions", "round", "starts_with", "upper"),
)
_CLASSES: Final = frozenset(
    {"BETWEEN", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION", "OPERATOR"}
)
_EQUALITIES: Final = frozenset({"COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_IN", "COMPARE_NOT_IN"})
_ORDERED: Final = re.compile("COMPARE_(GREATER|LESS)THAN|BETWEEN")
_TEXT: Final = r"'(?:[^']|'')*'"
_LITERAL: Final = re.compile(_TEXT.encode())
_REWRITTEN: Final = re.compile(
    _TEXT + r"""|"((?:[^"\\]|\\.)*)"|\b(finding|mentions)\s*\(|(?<![<>!=])(?:==?|(!=|<>))\s*null\b""",
    re.DOTALL | re.IGNORECASE,
)
_OR: Final = re.compile(r"\bor\b", re.IGNORECASE)

_UNSEARCHED: Final = frozenset({"id", "stamp", "digest"})


def _texts(columns: Mapping[str, Any]) -> str:
    names = [
        name
        for name, column in columns.items()
        if column.type in {Type.TEXT, Type.VERSION} and not column.hidden and name not in _UNSEARCHED
    ]
    return f"concat_ws(' ', {', '.join(names)})"


SCHEMA: Final = (
    f"""
    CREATE VIEW texts AS
        SELECT id, lower(concat_ws(' ', {_texts(CAPTURE_COLUMNS)}, words)) AS words FROM captures
        LEFT JOIN (
            SELECT capture, string_agg({_texts(FINDING_COLUMNS)}, ' ') AS words FROM findings GROUP BY capture
        ) ON capture = id
    """,
    """
    CREATE MACRO mentions(owner, searched) AS owner IN (
        SELECT t.id FROM texts t
        WHERE list_bool_and([contains(t.words, word) FOR word IN string_split(lower(searched), ' ')])
    )
    """,
    """
    CREATE MACRO finding(owner, holds) AS EXISTS (SELECT 1 FROM findings WHERE capture = owner AND holds)
    """,
)
"""What a connection needs beside the tables."""


class FilterError(InspectorError):
    """A filter that names what there is not, or that cannot be answered."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the filter does not work: {why}")


def condition(text: str, ask: Ask) -> str:
    """The SQL condition of a filter on `captures c`; raises FilterError.

    A condition on findings holds for a capture if it holds for one of its findings.
    """
    if not text.strip():
        return "true"
    parsed = _parsed(text, ask) or _parsed(_search(text), ask)
    if parsed is None:
        raise FilterError("it cannot be read as an expression or as words; shorten it")
    sql, root = parsed
    for node in _nodes(root):
        _check(node)
    join = any(COLUMNS[name].table is Table.FINDINGS for name in map(_column, _nodes(root)) if name)
    source = "captures LEFT JOIN findings ON capture = id" if join else "captures"
    return f"c.id IN (SELECT id FROM {source} WHERE {_by_numbers(sql, root)})"


def is_expression(text: str, ask: Ask) -> bool:
    """Whether a text is an expression; others are searched as words."""
    return _parsed(text, ask) is not None


def narrowed(words: str, column: str, value: str | int | None, ask: Ask) -> str:
    """A filter with one more condition, once; one about findings may be met by a finding of its own."""
    condition = f"{column} IS NULL" if value is None else f"{column} = {_literal(value)}"
    before = words.strip(" ;")
    if not {condition, f"finding({condition})"}.isdisjoint(before.split(" AND ")):
        return before
    if COLUMNS[column].table is Table.FINDINGS and (before or value is None):
        condition = f"finding({condition})"
    if not before:
        return condition
    if not is_expression(before, ask):
        before = _search(before)
    return f"{before} AND {condition}" if _OR.search(before) is None else f"({before}) AND {condition}"


def _search(words: str) -> str:
    return f"mentions({_literal(' '.join(words.split()))})"


def _literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def _parsed(text: str, ask: Ask) -> tuple[str, _Node] | None:
    """The SQL and the tree of a text that is one expression with a truth value."""
    if len(text) > _LENGTH:
        raise FilterError(f"longer than {_LENGTH:,} characters; shorten it")
    clean = text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")
    expression = _REWRITTEN.sub(_rewritten, clean.strip("; \t\r\n"))
    sql = f"({expression}\n)"
    # By itself, so that it closes no parenthesis of ours; in them, so that it has no clause behind.
    root = _tree(expression, ask) and _tree(sql, ask)
    return (sql, root) if root is not None and _is_condition(root) else None


def _rewritten(match: re.Match[str]) -> str:
    """Text in double quotes, in which filters have no names; the capture for macros; `= NULL` as meant."""
    quoted, macro, unequal = match.groups()
    if quoted is not None:
        return _literal(re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL))
    if macro is not None:
        return f"{macro}(id, "
    if match[0].startswith("'"):
        return match[0]
    return " IS NULL" if unequal is None else " IS NOT NULL"


def _tree(expression: str, ask: Ask) -> _Node | None:
    """The tree of the one expression that a text selects; None for any other text."""
    [[tree]] = ask("SELECT json_serialize_sql(?)", [_SELECT + expression])
    try:
        statements = json.loads(tree).get("statements", [])
    except RecursionError:
        raise FilterError("nested too deeply") from None
    roots = [root for statement in statements for root in statement["node"].get("select_list", [])]
    return roots[0] if len(roots) == 1 else None


def _is_condition(node: _Node) -> bool:
    """False for columns, values and sums, such as `tool-call`: these are words."""
    if node["alias"] or node["class"] in {"COLUMN_REF", "CONSTANT", "PARAMETER", "STAR"}:
        return False
    if node["class"] == "CONJUNCTION" or node["type"] == "OPERATOR_NOT":
        return all(map(_is_condition, node["children"]))
    return node.get("function_name") not in _ARITHMETIC


def _nodes(root: _Node) -> Iterator[_Node]:
    """All nodes of expressions in a tree."""
    stack: list[Any] = [root]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            stack += value.values()
            if "class" in value:
                yield value
        elif isinstance(value, list):
            stack += value


def _check(node: _Node) -> None:
    """Raise FilterError for what a filter may not have."""
    match node:
        case {"class": "COLUMN_REF", "column_names": names}:
            name = ".".join(names)
            if name.lower() not in COLUMNS:
                meant = _meant(name, COLUMNS, {}) or "; texts need quotes"
                raise FilterError(f"no column {clip(name, 40)}{meant}")
        case {"class": "FUNCTION", "function_name": name}:
            _check_call(name.lower(), _parts(node))
        case {"class": kind} if kind not in _CLASSES:
            raise FilterError(f"{kind.lower()} is not available in filters, see docs/scan.md")
        case {"type": kind} if kind in _EQUALITIES:
            _check_values(_parts(node))


def _check_call(name: str, children: Sequence[_Node]) -> None:
    if name in _LIKE:
        pattern = _text(children[-1])
        if pattern is None or len(re.findall("[%_]", pattern)) > _WILDCARDS:
            raise FilterError(f"LIKE takes a text with at most {_WILDCARDS} wildcards (% and _)")
    elif name not in _ARITHMETIC and name not in _FUNCTIONS:
        raise FilterError(f"no function {clip(name, 40)}{_meant(name, _FUNCTIONS, {})}")
    if name == "mentions" and (len(children) != 2 or _text(children[1]) is None):
        raise FilterError("mentions takes one text, e.g. mentions('tool call')")
    if name == "finding" and (
        len(children) != 2 or any(node.get("function_name") == "finding" for node in _nodes(children[1]))
    ):
        raise FilterError("finding takes one condition, without another finding(...)")


def _check_values(parts: Sequence[_Node]) -> None:
    """Raise FilterError for a value that a column never has."""
    for column in (COLUMNS.get(_column(part)) for part in parts):
        for text in map(_text, parts) if column is not None and column.values else ():
            if column is not None and text is not None and text not in column.values:
                endpoint = endpoint_of_path(text) if column.name == "endpoint" else None
                meant = _meant(text, column.values, column.labels)
                meant = meant if endpoint is None else f"; did you mean {endpoint.value}?"
                raise FilterError(f"{column.name} is never {_literal(clip(text, 40))}{meant}")


def _by_numbers(sql: str, root: _Node) -> str:
    """The SQL of a tree, with versions compared by their numbers."""
    changes: dict[int, tuple[int, str]] = {}
    data = sql.encode()
    for node in _nodes(root):
        parts = _parts(node)
        if not _ORDERED.search(node["type"]) or "version" not in map(_column, parts):
            continue
        for part in parts:
            start = part["query_location"] - len(_SELECT)
            if _column(part) == "version":
                changes[start] = start + len("version"), "version_order"
            elif (text := _text(part)) is not None and (literal := _LITERAL.match(data, start)):
                changes[start] = literal.end(), _literal(version_order(text))
    for start, (end, new) in sorted(changes.items(), reverse=True):
        data = data[:start] + new.encode() + data[end:]
    return data.decode()


def _parts(node: _Node) -> list[_Node]:
    """What a node combines; DuckDB 2 has what a function takes in `arguments`, DuckDB 1 in `children`."""
    return [
        *(argument["expression"] for argument in node.get("arguments", ())),
        *node.get("children", ()),
        *(node[name] for name in ("left", "right", "input", "lower", "upper") if name in node),
    ]


def _column(node: _Node) -> str:
    return node["column_names"][0].lower() if "column_names" in node else ""


def _text(node: _Node) -> str | None:
    """The value of a text; DuckDB 1 has it in `value`, DuckDB 2 in `literal`."""
    match node:
        case {"literal": {"kind": "STRING", "text": str(text)}} | {
            "value": {"type": {"id": "VARCHAR"}, "value": str(text)}
        }:
            return text
    return None


def _meant(word: str, names: Collection[str], labels: Mapping[str, str]) -> str:
    """What was probably meant, or what there is."""
    close = get_close_matches(word.lower(), [*names, *labels], 1)
    if close:
        return f"; did you mean {labels.get(close[0], close[0])}?"
    return f"; there are {listed(list(names))}" if len(names) <= 20 else ""
