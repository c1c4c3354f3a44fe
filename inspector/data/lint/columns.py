"""Which columns of a table are checked, and as what: named by the caller, or found in the first rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, assert_never

from inspector.data.lint.messages import is_messages
from inspector.data.lint.spelled import first_spelled
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import MARKERS, VOCABULARY_SIZE
from inspector.protocol.wire.stream import loads


class Form(StrEnum):
    """What a column holds."""

    TEXT = "text"
    MESSAGES = "messages"
    IDS = "ids"
    ANSWER = "answer"

    @property
    def words(self) -> str:
        """What it is taken as, in a sentence."""
        return _WORDS[self]


_WORDS: Final = {
    Form.TEXT: "rendered text",
    Form.MESSAGES: "chat messages",
    Form.IDS: "token IDs",
    Form.ANSWER: "scored text",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column; dots in its name lead into objects, `*` into all of their values, and lists are entered."""

    name: str
    form: Form


_SHOWN_IDS: Final = 4096
_IGNORED: Final = -100
"""The label of a token that the loss leaves out."""
_LOG_KEYS: Final = frozenset(
    {
        "acc",
        "correct",
        "doc_id",
        "exact_match",
        "expected",
        "gold",
        "is_correct",
        "label",
        "metrics",
        "native_id",
        "reference",
        "score",
        "scores",
        "target",
    }
)
"""Keys by which a row of an evaluation shows itself."""
_RESPONSES: Final = (
    "answer",
    "completion",
    "continuation",
    "generated_text",
    "generation",
    "generations",
    "model_answer",
    "model_output",
    "model_response",
    "output",
    "outputs",
    "pred",
    "prediction",
    "predictions",
    "response",
    "responses",
)
"""Usual names of what a model wrote."""


def detect(rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """The columns of the first rows that can be checked, in their order."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    if log := _log(rows):
        return log
    answers = _answers(rows, keys)
    columns = [Column(key, Form.ANSWER) for key in answers]
    for key in keys:
        if key in answers:
            continue
        values = [row[key] for row in rows if row.get(key) is not None]
        if form := _form(key, values):
            columns.append(Column(key, form))
    return columns


def _form(key: str, values: Sequence[object]) -> Form | None:
    if any(is_messages(_decoded(value)) for value in values):
        return Form.MESSAGES
    if any(_holds_ids(value) for value in values):
        return None if any(map(_is_masked, values)) else Form.IDS
    texts = [value for value in values if isinstance(value, str)]
    if any(first_spelled(text) is not None for text in texts):
        return Form.TEXT
    return Form.TEXT if texts and (key == "text" or key in _RESPONSES) else None


def _holds_ids(value: object) -> bool:
    """True for token IDs that are Harmony, real or spelled."""
    lists = value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
    for ids in lists[:4]:
        if isinstance(ids, list) and is_ids(ids):
            head = ids[:_SHOWN_IDS]
            if not MARKERS.isdisjoint(head) or first_spelled(text_of(head)) is not None:
                return True
    return False


def _is_masked(value: object) -> bool:
    """True for labels: a copy of the token IDs in which some are left out of the loss."""
    return isinstance(value, list) and _IGNORED in value


def is_ids(value: object) -> bool:
    """True for a list whose first elements can be tokens of gpt-oss."""
    return (
        isinstance(value, list)
        and len(value) > 1
        and all(type(token_id) is int and 0 <= token_id < VOCABULARY_SIZE for token_id in value[:_SHOWN_IDS])
    )


def _log(rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """The scored columns of a log that its keys identify; empty for another table."""
    if any("filtered_resps" in row for row in rows):  # lm-evaluation-harness: what its filters left is scored
        return [Column("filtered_resps", Form.ANSWER)]
    if any(isinstance(row.get("output"), Mapping) and "scores" in row for row in rows):  # Inspect
        return [Column("output.choices.message.content", Form.ANSWER), Column("scores.*.answer", Form.ANSWER)]
    if any(_has_continuation(row.get("model_output")) for row in rows):  # OLMES
        return [Column("model_output.continuation", Form.ANSWER)]
    return []


def _answers(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[str]:
    """The columns of what a model wrote, in a table that has a score or a target beside it."""
    log_keys = _LOG_KEYS.intersection(keys)
    if not log_keys or (log_keys == {"label"} and all(isinstance(row.get("label"), bool) for row in rows)):
        return []  # a boolean label alone is a preference in training data
    return [key for key in keys if key in _RESPONSES and any(_is_text(row.get(key)) for row in rows)]


def _has_continuation(value: object) -> bool:
    return isinstance(value, list) and any(
        isinstance(sample, Mapping) and "continuation" in sample for sample in value
    )


def _is_text(value: object) -> bool:
    if isinstance(value, list):
        return any(map(_is_text, value[:4]))
    return isinstance(value, str)


def values_in(row: Mapping[str, Any], column: Column) -> Iterator[object]:
    """The values of a column in a row: nothing where it is missing or null, and each of several."""
    values: Iterator[object] = iter((row,))
    if column.name in row:
        values = iter((row[column.name],))
    else:
        for name in column.name.split("."):
            values = _into(values, name)
    for value in values:
        yield from _leaves(value, column.form)


def _into(values: Iterator[object], name: str) -> Iterator[object]:
    for value in values:
        for child in value if isinstance(value, list) else (value,):
            if not isinstance(child, Mapping):
                continue
            if name == "*":
                yield from child.values()
            elif name in child:
                yield child[name]


def _leaves(value: object, form: Form) -> Iterator[object]:
    """The checked values: of nested lists each, but a list of IDs or of messages is one."""
    pending = [value]
    while pending:
        leaf = pending.pop()
        if form is Form.MESSAGES:
            leaf = _decoded(leaf)
        if isinstance(leaf, list) and _is_nested(leaf, form):
            pending.extend(reversed(leaf))
        elif leaf is not None:
            yield leaf


def _is_nested(value: list[Any], form: Form) -> bool:
    """True for a list of values rather than one value."""
    match form:
        case Form.MESSAGES | Form.IDS:
            return bool(value) and isinstance(value[0], list)
        case Form.TEXT | Form.ANSWER:
            return True
        case _:
            assert_never(form)


def _decoded(value: object) -> object:
    """Messages that are stored as JSON."""
    return loads(value) if isinstance(value, str) and value[:1] == "[" else value
