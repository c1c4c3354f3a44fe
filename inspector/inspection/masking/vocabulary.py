"""The published vocabulary, which a copy keeps: the tables of vocabulary.toml, and words of prompts."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final

from inspector.capture.capture import ENDPOINT_GUESSED, STOPPED
from inspector.files.tables import Row, Verbatim, read_table
from inspector.issues.catalogue.schema import Expression


class _Phrases(Row, frozen=True):
    texts: tuple[Verbatim, ...]
    expressions: tuple[Expression, ...]


class _Tables(Row, frozen=True):
    keys: str
    free: str
    chosen_names: str
    ids: str
    id_sets: str
    names: str
    worded: str
    forms: Mapping[str, Expression]
    values: Mapping[str, str]
    phrases: _Phrases


_TABLES: Final = read_table(Path(__file__).with_name("vocabulary.toml"), _Tables)


def _full_match(words: list[str]) -> re.Pattern[str]:
    """One of some words, and nothing behind it."""
    return re.compile(rf"(?:{'|'.join(map(re.escape, words))})\Z")


KEYS: Final = frozenset(_TABLES.keys.split())
"""Names in requests, events and schemas."""
FREE: Final = frozenset(_TABLES.free.split())
"""JSON that a user or a model made stands under these: its names are theirs too, and its numbers."""
CHOSEN_NAMES: Final = frozenset(_TABLES.chosen_names.split())
"""Objects in which somebody chose the names; what they stand for is a schema again."""
IDS: Final = frozenset(_TABLES.ids.split())
ID_SETS: Final = frozenset(_TABLES.id_sets.split())
NAMES: Final = frozenset(_TABLES.names.split())
"""Words of a Harmony header stand under these."""
WORDED: Final = frozenset(_TABLES.worded.split())
"""A server says something under these, in which phrases stay."""

_WORDS: Final = {key: words.split() for key, words in _TABLES.values.items()}
_STATUSES: Final = [status.phrase for status in HTTPStatus]
_NAMED: Final = [*KEYS, "header", "path"]
_MORE: Final = {
    "detail": _STATUSES,
    "type": [*_WORDS["event"], *_WORDS["code"], *_STATUSES],
    "loc": _NAMED,
    "param": _NAMED,
}
"""Words of other lists that stay under a key."""

KEPT: Final = {
    **{key: form.expression for key, form in _TABLES.forms.items()},
    **{key: _full_match([*_WORDS.get(key, ()), *_MORE.get(key, ())]) for key in {**_WORDS, **_MORE}},
}
"""By key, what stays of its strings from their beginning; the rest of a string is replaced."""

PHRASES: Final = re.compile(
    "({})".format(
        "|".join(
            [
                *map(re.escape, (ENDPOINT_GUESSED, STOPPED, *_TABLES.phrases.texts)),
                *(phrase.text for phrase in _TABLES.phrases.expressions),
            ]
        )
    )
)
"""What stays of a server's own words."""

FIELD_OF_KEY: Final = {
    "arguments": ".arguments",
    "code": ".code",
    "content": "content",
    "name": ".name",
    "reasoning": "reasoning",
    "reasoning_content": "reasoning",
}

_TOOLS: Final = r"browser\.(?:search|open|find)|container\.(?:exec|download|upload)"
GRAMMAR: Final = re.compile(
    rf"{_TOOLS}|assistant(?:ary)?|comment(?:ary)?|analysis|final|functions|developer|container"
    r"|browser|python|constrain"
    r"|(?<![A-Za-z0-9])(?:user|system|tool|json|code|to|ary|I'm|I|We|The)(?![A-Za-z0-9])"
)
"""Words of headers: roles, channels, content types, tools of the model itself, and pieces of them.

Also the words by which a known issue recognizes that a sentence was written in place of a header.
"""
HEADER: Final = re.compile(rf"(?<!\w)(?:{GRAMMAR.pattern})(?!\w)")
"""The same as whole words, as a prompt has them."""

_TYPE: Final = r"(?:any|boolean|null|number|object|string)\b"
TEMPLATE: Final = re.compile(
    r"You are ChatGPT, a large language model trained by OpenAI\."
    r"|^(?:Knowledge cutoff|Current date): \d{4}-\d\d(?:-\d\d)?$|^Reasoning: (?:low|medium|high)$"
    r"|^# Valid channels: (?:analysis|commentary|final|, )+\. Channel must be included for every message\.$"
    r"|^Calls to these tools must go to the commentary channel: 'functions'\.$"
    r"|^#+ (?:Instructions|Tools|Response Formats|browser|functions|python)$"
    r"|^(?:\} // )?namespace (?:browser|functions|python)(?: \{)?$"
    rf"|^type (?:{GRAMMAR.pattern})(?= = \()|^type (?=\S{{1,256}} = \()|=> any;$|// default: |// Examples:$"
    rf"|(?<=: ){_TYPE}|(?<=\| ){_TYPE}",
    re.MULTILINE,
)
"""Words of the system and developer messages that every server renders."""
