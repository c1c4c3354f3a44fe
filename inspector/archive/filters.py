"""The filter language of archives, for the page, the command and the address; `sql` translates it.

    kind == "dropped" and tokens > 500
    version in ("0.10.2", "0.11.0") and not cause == null

Any text is either a filter or a `FilterError` that names the place.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from enum import StrEnum
from typing import Final, NamedTuple, NoReturn

from inspector.archive.columns import CAPTURE_COLUMNS, FINDING_COLUMNS, Column, Table, Type
from inspector.errors import InspectorError
from inspector.formats import clip, listed

__all__ = [
    "COLUMNS",
    "And",
    "Comparison",
    "Expression",
    "FilterError",
    "Finding",
    "In",
    "Not",
    "Op",
    "Or",
    "Value",
    "narrowed",
    "parse_filter",
    "quoted",
]

COLUMNS: Final = {
    name: column for name, column in {**CAPTURE_COLUMNS, **FINDING_COLUMNS}.items() if not column.hidden
}
"""What a filter may name; no name is in both tables."""

_LENGTH: Final = 4000
_DEPTH: Final = 40
_LARGEST: Final = 2**63 - 1
_TOKEN: Final = re.compile(
    r"""\s*(?:
    (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<number>[+-]?(?:[0-9][0-9_]*(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)(?![A-Za-z0-9_.])
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>==|!=|<=|>=|<|>|\(|\)|,)
    )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_OR: Final = re.compile(r"\bor\b", re.IGNORECASE)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_KEYWORDS: Final = frozenset({"and", "or", "not", "in", "contains", "startswith", "null", "finding"})


class Op(StrEnum):
    """How a column is compared with a value."""

    EQUAL = "=="
    UNEQUAL = "!="
    BELOW = "<"
    AT_MOST = "<="
    ABOVE = ">"
    AT_LEAST = ">="
    CONTAINS = "contains"
    STARTS = "startswith"


_TEXTUAL: Final = frozenset({Op.CONTAINS, Op.STARTS})

Value = str | int | float | datetime | None
"""What a column is compared with; None for null."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column and a value."""

    column: Column
    op: Op
    value: Value
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class In:
    """A column and several values."""

    column: Column
    values: tuple[Value, ...]
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite."""

    part: "Expression"


@dataclass(frozen=True, slots=True)
class And:
    """All of these."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """One of these."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """There is one finding for which this holds."""

    part: "Expression"


Expression = Comparison | In | Not | And | Or | Finding


class FilterError(InspectorError):
    """A text that is no filter; `at` counts characters from 0."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(f"filter, character {at + 1}: {why}")
        self.at = at
        self.why = why


def parse_filter(text: str) -> Expression | None:
    """The filter of a text, None for an empty one; raises FilterError."""
    if len(text) > _LENGTH:
        raise FilterError(_LENGTH, f"longer than {_LENGTH:,} characters; shorten it")
    if not text.strip():
        return None
    parser = _Parser(list(_tokens(text)))
    found = parser.either()
    parser.end()
    return found


def narrowed(words: str, column: str, value: Value) -> str:
    """A filter with one more condition; one about findings may be met by a finding of its own."""
    more = f"{column} == {quoted(value)}"
    if not words.strip():
        return more
    if COLUMNS[column].table is Table.FINDINGS:
        more = f"finding({more})"
    return f"{words} and {more}" if _OR.search(words) is None else f"({words}) and {more}"


def quoted(value: Value) -> str:
    """A value as a filter has it."""
    match value:
        case None:
            return "null"
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case datetime():
            return f'"{value.isoformat()}"'
        case _:
            return str(value)


class _Token(NamedTuple):
    kind: str
    """`text`, `number`, `word`, `sign` or `end`."""
    text: str
    at: int

    @property
    def word(self) -> str:
        """What the grammar compares; empty for quoted text."""
        return self.text.lower() if self.kind in {"word", "sign"} else ""

    @property
    def shown(self) -> str:
        """For an error."""
        return "the end of the filter" if self.kind == "end" else clip(self.text, 40)


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    end = len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            raise FilterError(at, _unreadable(text[at:]))
        yield _Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup))
        at = found.end()
    yield _Token("end", "", end)


def _unreadable(rest: str) -> str:
    if rest[0] in "\"'":
        return "the text has no closing quote"
    if rest[0] == "=":
        return "use == to compare"
    if rest[0] in "&|!":
        return "use and, or, not"
    return f"unexpected {clip(rest, 20)}; texts need quotes"


class _Parser:
    """Recursive descent; the depth is bounded."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._in_finding = False

    def either(self) -> Expression:
        """A filter, up to what cannot belong to it."""
        return self._joined("or", lambda: self._joined("and", self._unary, And), Or)

    def end(self) -> None:
        """Nothing may follow."""
        if self._next.kind != "end":
            self._fail(f"expected and, or, or the end of the filter, found {self._next.shown}")

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _fail(self, why: str, at: int | None = None) -> NoReturn:
        raise FilterError(self._next.at if at is None else at, why)

    def _take(self, *words: str) -> _Token | None:
        """The next token if it is one of these."""
        if self._next.word not in words:
            return None
        self._at += 1
        return self._tokens[self._at - 1]

    def _need(self, word: str) -> None:
        if self._take(word) is None:
            self._fail(f"expected {word}, found {self._next.shown}")

    def _joined(
        self,
        word: str,
        part: Callable[[], Expression],
        made: type[And] | type[Or],
    ) -> Expression:
        parts = [part()]
        while self._take(word):
            parts.append(part())
        if len(parts) == 1:
            return parts[0]
        flat = [inner for one in parts for inner in (one.parts if isinstance(one, made) else (one,))]
        return made(tuple(flat))

    def _unary(self) -> Expression:
        self._depth += 1
        if self._depth > _DEPTH:
            self._fail(f"nested more than {_DEPTH} times")
        try:
            if self._take("not"):
                return Not(self._unary())
            if self._take("("):
                inner = self.either()
                self._need(")")
                return inner
            if (token := self._take("finding")) is not None:
                return self._finding(token)
            return self._comparison()
        finally:
            self._depth -= 1

    def _finding(self, token: _Token) -> Expression:
        if self._in_finding:
            self._fail("finding(...) cannot contain another one", token.at)
        self._need("(")
        self._in_finding = True
        inner = self.either()
        self._in_finding = False
        self._need(")")
        return Finding(inner)

    def _comparison(self) -> Expression:
        token = self._next
        column = self._column()
        if self._take("not"):
            if self._next.word != "in":
                self._fail(f"expected in after not, found {self._next.shown}")
            return Not(self._comparison_with(column, token.at))
        return self._comparison_with(column, token.at)

    def _comparison_with(self, column: Column, at: int) -> Expression:
        if self._take("in"):
            self._need("(")
            values = [self._value(column, Op.EQUAL)]
            while self._take(","):
                values.append(self._value(column, Op.EQUAL))
            self._need(")")
            return In(column, tuple(values), at)
        sign = self._take(*Op)
        if sign is None:
            operators = listed(["in", *Op], "or")
            self._fail(f"expected {operators} after {column.name}, found {self._next.shown}")
        op = Op(sign.word)
        if op in _TEXTUAL and column.type not in {Type.TEXT, Type.VERSION}:
            self._fail(f"{op} needs a text, and {column.name} is a {column.type}", sign.at)
        return Comparison(column, op, self._value(column, op), at)

    def _column(self) -> Column:
        token = self._next
        if token.kind != "word" or token.word in _KEYWORDS:
            self._fail(f"expected a column, found {token.shown}")
        column = COLUMNS.get(token.text)
        if column is None:
            self._fail(f"no column {clip(token.text, 40)}{_meant(token.text, tuple(COLUMNS), {})}")
        if self._in_finding and column.name not in FINDING_COLUMNS:
            self._fail(f"{column.name} is a column of captures, and finding(...) is about one finding")
        self._at += 1
        return column

    def _value(self, column: Column, op: Op) -> Value:
        token = self._next
        if token.word == "null":
            if op not in {Op.EQUAL, Op.UNEQUAL}:
                self._fail(f"null can only be compared with == and !=, not with {op}")
            value: Value = None
        elif token.kind == "text":
            value = self._text(column, op, token)
        elif token.kind == "number":
            value = self._number(column, token)
        elif token.kind == "word" and token.word not in _KEYWORDS:
            self._fail(f'expected a value, found {token.shown}; texts need quotes: "{clip(token.text, 40)}"')
        else:
            self._fail(f"expected a value, found {token.shown}")
        self._at += 1
        return value

    def _text(self, column: Column, op: Op, token: _Token) -> Value:
        # UTF-8 has no lone surrogates, so no row has any.
        text = _ESCAPED.sub(r"\1", token.text[1:-1]).encode("utf-8", "replace").decode("utf-8")
        if column.type in {Type.NUMBER, Type.DECIMAL}:
            self._fail(f"{column.name} is a number; leave out the quotes")
        if column.type is Type.TIME:
            return self._moment(column, text)
        if column.values and op in {Op.EQUAL, Op.UNEQUAL} and text not in column.values:
            meant = _meant(text, column.values, column.labels)
            self._fail(f"{column.name} is never {clip(token.text, 40)}{meant}")
        return text

    def _moment(self, column: Column, text: str) -> datetime:
        try:
            moment = datetime.fromisoformat(text)
            return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
        except (ValueError, OverflowError):
            self._fail(f'{column.name} is a time, e.g. "2026-11-22" or "2026-11-22T14:30:00Z"')

    def _number(self, column: Column, token: _Token) -> int | float:
        if column.type not in {Type.NUMBER, Type.DECIMAL}:
            self._fail(f'{column.name} is a {column.type}; it needs quotes: "{clip(token.text, 40)}"')
        plain = token.text.replace("_", "")
        try:
            value: int | float = int(plain) if plain.lstrip("+-").isdigit() else float(plain)
        except ValueError:  # more digits than Python reads
            value = float("inf")
        if not -_LARGEST <= value <= _LARGEST:
            self._fail("the number is too large")
        return value


def _meant(word: str, known: Sequence[str], labels: Mapping[str, str]) -> str:
    """What was probably meant, or what there is."""
    close = get_close_matches(word.lower(), [*known, *labels], 1)
    if close:
        return f"; did you mean {labels.get(close[0], close[0])}?"
    return f"; there are {listed(known)}" if len(known) <= 20 else ""
