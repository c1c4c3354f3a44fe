"""Which values of a row are checked, and as what: named by the caller, or found by what the first rows hold.

A column is a path: keys with dots between them, `*` for all values of an object whose keys are data (IDs,
numbers), and lists are entered. JSON in a string is entered too.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, assert_never

from inspector.data.lint.messages import is_message, is_messages, seems_messages
from inspector.protocol.harmony.markup import first_spelled, stripped_transcript
from inspector.protocol.harmony.states import STOPS
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import MARKERS, VOCABULARY_SIZE, Marker
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


Path = tuple[str, ...]

_SHOWN_IDS: Final = 4096
_IGNORED: Final = -100
"""The label of a token that the loss leaves out."""
_DEPTH: Final = 16
_NODES: Final = 200_000
"""Values of the first rows that are looked at."""
_VALUES: Final = 64
"""Values of a path that are looked at."""
_ITEMS: Final = 256
"""Elements of a list that are looked at."""
_KEYED: Final = 2
"""From this number of equally shaped objects on, the keys of the object around them are data, not names."""
_WORD_KEY: Final = re.compile(r"[A-Za-z_]\w*\Z")
_ROLES: Final = re.compile(r'"role"\s*:\s*"(?:system|developer|user|assistant|tool)"|<\|message\|>')
"""What JSON in a string has if it is entered; other JSON is what a model wrote."""
_PROMPT: Final = re.compile(r"\s*<\|start\|>(?!assistant)")
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SEQUENCE: Final = 6
"""Token IDs of the shortest message: `<|start|>user<|message|>`, a token, `<|end|>`, and one more."""
_HEADER: Final = 32
"""Tokens of a header."""
_OPENS: Final = frozenset({int(Marker.START), int(Marker.CHANNEL)})
_TOKENS: Final = frozenset(marker.text for marker in Marker)
_LOG_KEYS: Final = frozenset(
    {
        "acc",
        "accuracy",
        "correct",
        "doc_id",
        "exact_match",
        "expected",
        "expected_answer",
        "gold",
        "ground_truth",
        "is_correct",
        "label",
        "metrics",
        "native_id",
        "passed",
        "reference",
        "score",
        "scores",
        "target",
    }
)
"""Keys by which a row of an evaluation shows itself."""
_RESPONSES: Final = frozenset(
    {
        "answer",
        "extracted_answer",
        "final_answer",
        "model_answer",
        "parsed_answer",
        "pred",
        "predicted_answer",
    }
)
"""Names of what a model wrote, beside those with one of these words."""

_RESPONSE_WORDS: Final = frozenset(
    {
        "completion",
        "completions",
        "continuation",
        "generated",
        "generation",
        "generations",
        "output",
        "outputs",
        "prediction",
        "predictions",
        "response",
        "responses",
        "resps",
    }
)
"""Words in names of what a model wrote."""
_PLAIN_NAMES: Final = frozenset({"content", "data", "text", "value"})
"""Names that say nothing; the one above them does."""


@dataclass(slots=True)
class _PathValues:
    """What the first rows hold at one path."""

    values: list[object] = field(default_factory=list)
    """Texts, lists of integers, lists of messages, and single messages."""
    siblings: set[str] = field(default_factory=set)
    """Keys beside the path and above it, without those of the path itself."""


def detect(rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """The columns of the first rows that can be checked, in their order."""
    if log := _log(rows):
        return log
    by_path = _survey(rows)
    answers = {path for path, at in by_path.items() if _is_answer(path, at)}
    # “answer” beside another answer is the one to find, “raw” beside another is what that was taken from;
    # what no name shows, a transcript does.
    answers = {path for path in answers if path[-1] != "answer"} or answers
    answers -= {path for path in answers if "raw" in path[-1] and _has_sibling(path, answers)}
    if all(path[-1] == "answer" for path in answers):
        answers = {path for path, at in by_path.items() if _is_scored_transcript(at)} or answers
    columns = []
    for path, at in by_path.items():
        form = Form.ANSWER if path in answers else _form(path, at.values)
        if form is not None:
            columns.append(Column(".".join(path), form))
    return columns


def text_paths(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The paths of the first rows that have text, IDs or messages, for a caller who must name one."""
    return [".".join(path) for path in _survey(rows)]


def _survey(rows: Sequence[Mapping[str, Any]]) -> dict[Path, _PathValues]:
    """What can be checked in the first rows, by its path."""
    by_path: dict[Path, _PathValues] = {}
    budget = [_NODES]
    for row in rows:
        _look(row, (), frozenset(), by_path, budget)
    return {path: at for path, at in by_path.items() if at.values}


def _look(
    value: object, path: Path, around: frozenset[str], by_path: dict[Path, _PathValues], budget: list[int]
) -> None:
    if budget[0] <= 0 or len(path) > _DEPTH or value is None:
        return
    budget[0] -= 1
    value = _decoded(value)
    if isinstance(value, str) or _is_leaf(value):
        at = by_path.setdefault(path, _PathValues())
        at.siblings |= around
        if len(at.values) < _VALUES:
            at.values.append(value)
    elif isinstance(value, Mapping):
        # A boolean label is a preference in training data.
        keys = frozenset(key for key, inner in value.items() if key != "label" or not isinstance(inner, bool))
        starred = _is_keyed(value)
        for key, inner in list(value.items())[: _ITEMS if starred else None]:
            name = str(key)
            siblings = around if starred else around | (keys - {name})
            _look(inner, (*path, "*" if starred else name), siblings, by_path, budget)
    elif isinstance(value, list):
        for inner in value[:_ITEMS]:
            _look(inner, path, around, by_path, budget)


def _is_leaf(value: object) -> bool:
    """True for what is checked as one value: messages, one message, token IDs, labels."""
    if isinstance(value, Mapping):
        return is_message(value)
    return isinstance(value, list) and (seems_messages(value) or is_ids(value) or _is_masked(value))


def _is_keyed(value: Mapping[str, Any]) -> bool:
    """True for an object whose keys are data: none is a word, or its values are many objects of one shape."""
    if len(value) < _KEYED:
        return False
    if not any(_WORD_KEY.match(str(key)) for key in value):
        return True
    shapes = [frozenset(inner) if isinstance(inner, Mapping) else None for inner in value.values()]
    return len(shapes) > _KEYED and bool(shapes[0]) and len(set(shapes)) == 1


def _form(path: Path, values: Sequence[object]) -> Form | None:
    if any(is_messages(value) or is_message(value) for value in values):
        return Form.MESSAGES
    if any(_holds_ids(value) for value in values):
        return None if any(map(_is_masked, values)) else Form.IDS
    texts = [value for value in values if isinstance(value, str)]
    if _are_tokens(texts):
        return None
    if any(_shows_harmony(text) for text in texts):
        return Form.TEXT
    return Form.TEXT if texts and (path[-1] == "text" or _names_response(path)) else None


def _are_tokens(values: Sequence[object]) -> bool:
    """True for texts of single tokens, as in logprobs."""
    return len(values) > 1 and any(isinstance(text, str) and text in _TOKENS for text in values)


def _shows_harmony(text: str) -> bool:
    """True for text with a special token of Harmony, and for a transcript that lost them."""
    return first_spelled(text) is not None or stripped_transcript(text) is not None


def _names_response(path: Path) -> bool:
    """True for a path whose name says that the model wrote what it holds."""
    names = [name for name in path if name != "*"]
    while len(names) > 1 and names[-1] in _PLAIN_NAMES:
        names.pop()
    if not names:
        return False
    words = _WORD.findall(names[-1])
    if not words:
        return names[-1] in _RESPONSES
    first, last = words[0].lower(), words[-1].lower()
    return names[-1] in _RESPONSES or last in _RESPONSE_WORDS or first == "generated"


def _holds_ids(value: object) -> bool:
    """True for token IDs that are Harmony, real or spelled."""
    if not isinstance(value, list) or not is_ids(value):
        return False
    head = value[:_SHOWN_IDS]
    if MARKERS.isdisjoint(head):
        return first_spelled(text_of(head)) is not None
    # Lists of the most likely tokens of one place have special tokens too, but no header.
    body = head.index(Marker.MESSAGE) if Marker.MESSAGE in head else 0
    opened = not _OPENS.isdisjoint(head[max(body - _HEADER, 0) : body])
    return len(value) >= _SEQUENCE and (opened or value[-1] in STOPS)


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
        responses = [Column("resps", Form.TEXT)] if any("resps" in row for row in rows) else []
        return [*responses, Column("filtered_resps", Form.ANSWER)]
    if any(isinstance(row.get("output"), Mapping) and "scores" in row for row in rows):  # Inspect
        return [Column("output.choices.message.content", Form.ANSWER), Column("scores.*.answer", Form.ANSWER)]
    if any(_has_continuation(row.get("model_output")) for row in rows):  # OLMES
        return [Column("model_output.continuation", Form.ANSWER)]
    return []


def _is_answer(path: Path, at: _PathValues) -> bool:
    """True for the named text of a model in a table that has a score or a target beside it."""
    return (
        _names_response(path)
        and _is_scored(at)
        and all(isinstance(value, str) for value in at.values)
        and not _are_tokens(at.values)
    )


def _has_sibling(path: Path, paths: Collection[Path]) -> bool:
    return any(other[:-1] == path[:-1] and "raw" not in other[-1] for other in paths)


def _is_scored_transcript(at: _PathValues) -> bool:
    """True for a completion, raw or without its special tokens, that has a score beside it."""
    if not _is_scored(at) or _are_tokens(at.values):
        return False
    texts = (value for value in at.values if isinstance(value, str))
    return any(_shows_harmony(text) and _PROMPT.match(text) is None for text in texts)


def _is_scored(at: _PathValues) -> bool:
    return not _LOG_KEYS.isdisjoint(at.siblings)


def _has_continuation(value: object) -> bool:
    return isinstance(value, list) and any(
        isinstance(sample, Mapping) and "continuation" in sample for sample in value
    )


def values_in(row: Mapping[str, Any], column: Column) -> Iterator[tuple[str, object]]:
    """The values of a column in a row, each with its place in the row: none where it is missing or null."""
    for place, value in _at(row, column.name.split("."), ""):
        yield from _leaves(place, value, column.form)


def _at(value: object, names: Sequence[str], place: str) -> Iterator[tuple[str, object]]:
    """What is at a path; a key may have dots of its own."""
    if not names:
        yield place, value
        return
    if isinstance(value, str) and value[:1] in {"{", "["}:
        value = loads(value)
    if isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _at(inner, names, f"{place}[{at}]")
    elif isinstance(value, Mapping):
        joint = f"{place}." if place else ""
        for many in range(1, len(names) + 1):
            if (key := ".".join(names[:many])) in value:
                yield from _at(value[key], names[many:], joint + key)
                return
        if names[0] == "*":
            for key, inner in value.items():
                yield from _at(inner, names[1:], f"{joint}{key}")


def _leaves(place: str, value: object, form: Form) -> Iterator[tuple[str, object]]:
    """The checked values: of nested lists each, but a list of IDs or of messages is one."""
    if value is None:
        return
    if form is Form.MESSAGES:
        value = _decoded(value)
        if is_message(value):
            value = [value]
    if isinstance(value, list) and _is_nested(value, form):
        for at, inner in enumerate(value):
            yield from _leaves(f"{place}[{at}]", inner, form)
    else:
        yield place, value


def _is_nested(value: list[Any], form: Form) -> bool:
    """True for a list of values rather than one value."""
    match form:
        case Form.MESSAGES:
            return bool(value) and (isinstance(value[0], list) or _is_wrapped(value))
        case Form.IDS:
            return bool(value) and isinstance(value[0], list)
        case Form.TEXT | Form.ANSWER:
            return True
        case _:
            assert_never(form)


def _is_wrapped(value: list[Any]) -> bool:
    """True for a list of JSON texts that have messages."""
    return isinstance(value[0], str) and _ROLES.search(value[0]) is not None


def _decoded(value: object) -> object:
    """Messages, or an object with them, that are stored as JSON."""
    if isinstance(value, str) and value[:1] in {"{", "["} and _ROLES.search(value) is not None:
        return loads(value) or value
    return value
