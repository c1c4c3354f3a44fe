"""Filters of archives: one SQL expression over the columns of both tables, or words to search for.

    kind = 'dropped' AND tokens > 500

DuckDB parses the text to a tree. The tree may have only the columns, operators and functions that are listed
here, and what runs is DuckDB's own print of it. A text that is no such expression is searched as words.
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

_LENGTH: Final = 2000
"""DuckDB's parser takes seconds for a text of several thousand parentheses."""
_WILDCARDS: Final = 3
"""DuckDB's LIKE takes time in the power of its wildcards, and cannot be interrupted in a row."""
_ARITHMETIC: Final = frozenset("+-*/%")
_LIKE: Final = frozenset({"~~", "!~~", "~~*", "!~~*"})
_FUNCTIONS: Final = (
    "abs",
    "contains",
    "ends_with",
    "finding",
    "length",
    "lower",
    "mentions",
    "round",
    "starts_with",
    "upper",
)
_OPERATORS: Final = frozenset(
    {
        "COMPARE_IN",
        "COMPARE_NOT_IN",
        "OPERATOR_COALESCE",
        "OPERATOR_IS_NOT_NULL",
        "OPERATOR_IS_NULL",
        "OPERATOR_NOT",
    }
)
_CLASSES: Final = frozenset(
    {"BETWEEN", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION", "OPERATOR"}
)
_EQUALITIES: Final = frozenset({"COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_IN", "COMPARE_NOT_IN"})
_ORDERED: Final = re.compile("COMPARE_(GREATER|LESS)THAN|BETWEEN")
_NULLS: Final = {
    "COMPARE_EQUAL": "COMPARE_NOT_DISTINCT_FROM",
    "COMPARE_NOTEQUAL": "COMPARE_DISTINCT_FROM",
}
_QUOTED: Final = re.compile(r"""'(?:[^']|'')*'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
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
    CREATE MACRO mentions(searched, owner) AS owner IN (
        SELECT t.id FROM texts t
        WHERE list_bool_and([contains(t.words, word) FOR word IN string_split(lower(searched), ' ')])
    )
    """,
    """
    CREATE MACRO finding(holds, owner) AS EXISTS (SELECT 1 FROM findings WHERE capture = owner AND holds)
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
    root = _parsed(text, ask) or _parsed(_search(text), ask)
    if root is None:
        raise FilterError("it cannot be read as an expression or as words; shorten it")
    for node in _nodes(root):
        _check(node)
    columns = [COLUMNS[node["column_names"][0].lower()] for node in _nodes(root) if "column_names" in node]
    for node in _nodes(root):
        _rewrite(node, ask)
    join = any(column.table is Table.FINDINGS for column in columns)
    source = "captures LEFT JOIN findings ON capture = id" if join else "captures"
    return f"c.id IN (SELECT id FROM {source} WHERE {_printed(root, ask)})"


def is_expression(text: str, ask: Ask) -> bool:
    """Whether a text is an expression; others are searched as words."""
    return _parsed(text, ask) is not None


def narrowed(words: str, column: str, value: str | int | None, ask: Ask) -> str:
    """A filter with one more condition, once; one about findings may be met by a finding of its own."""
    more = f"{column} IS NULL" if value is None else f"{column} = {_literal(value)}"
    before = words.strip(" ;")
    if not {more, f"finding({more})"}.isdisjoint(before.split(" AND ")):
        return before
    if COLUMNS[column].table is Table.FINDINGS and (before or value is None):
        more = f"finding({more})"
    if not before:
        return more
    if not is_expression(before, ask):
        before = _search(before)
    return f"{before} AND {more}" if _OR.search(before) is None else f"({before}) AND {more}"


def _search(words: str) -> str:
    return f"mentions({_literal(' '.join(words.split()))})"


def _literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def _parsed(text: str, ask: Ask) -> _Node | None:
    """The tree of a text that is one expression with a truth value."""
    if len(text) > _LENGTH:
        raise FilterError(f"longer than {_LENGTH:,} characters; shorten it")
    clean = text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")
    node = _select(_QUOTED.sub(_single_quoted, clean), ask)
    frame = _select("1", ask)
    if node is None or frame is None:
        return None
    roots = node.pop("select_list", [])
    del frame["select_list"]
    return roots[0] if node == frame and len(roots) == 1 and _is_condition(roots[0]) else None


def _single_quoted(match: re.Match[str]) -> str:
    """A text in double quotes, which name columns in SQL, as a text; in filters columns need no quotes."""
    return match[0] if match[1] is None else _literal(re.sub(r"\\(.)", r"\1", match[1], flags=re.DOTALL))


def _select(expressions: str, ask: Ask) -> _Node | None:
    [[tree]] = ask("SELECT json_serialize_sql(?)", [f"SELECT {expressions}"])
    try:
        statements = json.loads(tree).get("statements", [])
    except RecursionError:
        raise FilterError("nested too deeply") from None
    return statements[0]["node"] if len(statements) == 1 else None


def _printed(root: _Node, ask: Ask) -> str:
    [[frame]] = ask("SELECT json_serialize_sql('SELECT 1')", [])
    tree = json.loads(frame)
    tree["statements"][0]["node"]["select_list"] = [root]
    try:
        [[sql]] = ask("SELECT json_deserialize_sql(?::JSON)", [json.dumps(tree)])
    except RecursionError:
        raise FilterError("nested too deeply") from None
    return str(sql).removeprefix("SELECT ")


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
        case {"class": "OPERATOR", "type": kind} if kind not in _OPERATORS:
            raise FilterError(f"{kind.lower()} is not available in filters, see docs/scan.md")
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
    if name == "mentions" and (len(children) != 1 or _text(children[0]) is None):
        raise FilterError("mentions takes one text, e.g. mentions('tool call')")
    if name == "finding" and (
        len(children) != 1 or any(node.get("function_name") == "finding" for node in _nodes(children[0]))
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


def _rewrite(node: _Node, ask: Ask) -> None:
    """Give macros their capture, compare versions by their numbers, and let `= NULL` mean IS NULL."""
    parts = _parts(node)
    if node.get("function_name", "").lower() in {"finding", "mentions"}:
        key = "arguments" if "arguments" in node else "children"
        node[key].append(_value("finding(true, id)", ask)[key][1])
    elif node["type"] in _NULLS and any(map(_is_null, parts)):
        node["type"] = _NULLS[node["type"]]
    elif _ORDERED.search(node["type"]) and "version" in map(_column, parts):
        for part in parts:
            if _column(part) == "version":
                part["column_names"] = ["version_order"]
            elif (text := _text(part)) is not None:
                part.update(_value(_literal(version_order(text)), ask))


def _value(text: str, ask: Ask) -> _Node:
    """The node of a name or a value."""
    [[tree]] = ask("SELECT json_serialize_sql(?)", [f"SELECT {text}"])
    value: _Node = json.loads(tree)["statements"][0]["node"]["select_list"][0]
    return value


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


def _is_null(node: _Node) -> bool:
    match node:
        case {"literal": {"kind": "NULL_LITERAL"}} | {"value": {"is_null": True}}:
            return True
    return False


def _meant(word: str, names: Collection[str], labels: Mapping[str, str]) -> str:
    """What was probably meant, or what there is."""
    close = get_close_matches(word.lower(), [*names, *labels], 1)
    if close:
        return f"; did you mean {labels.get(close[0], close[0])}?"
    return f"; there are {listed(list(names))}" if len(names) <= 20 else ""
