"""The entries whose words are most like those of a text: places to look, never a cause.

An index of SQLite (FTS5) over what the catalogue says of each entry. It claims nothing, so it names no side
and changes no exit code; each entry is shown with the one command that settles whether it is the cause.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Final

from inspector.issues.catalogue import catalogue
from inspector.issues.issue import Issue
from inspector.issues.ranking import Because, possible_on, version_reason
from inspector.protocol.engines import DEFAULT, Engine

if TYPE_CHECKING:
    import sqlite3


_SHOWN: Final = 3
_WORD: Final = re.compile(r"[^\W_]{2,40}")
_NAMES: Final = frozenset({"gpt", "oss", "gptoss", "20b", "120b", "openai", DEFAULT.name})
"""Names of the model and the server, which say nothing of the fault."""
_WORDS: Final = 64
"""Different words of a text that are looked for."""
_CHARACTERS: Final = 16_000
"""Characters of a text that are read."""
_TABLE: Final = (
    "CREATE VIRTUAL TABLE entries USING fts5(symptoms, title, cause, steps, examples, "
    "tokenize='porter unicode61')"
)
_CLOSEST: Final = (
    "SELECT rowid FROM entries WHERE entries MATCH ? ORDER BY bm25(entries, 4, 2, 1, 1, 1), rowid"
)
"""A word that users say counts most, one of the title more than others."""
_LOCK: Final = Lock()


def closest(
    text: str,
    issues: Sequence[Issue] | None = None,
    server: Engine | None = None,
    versions: Sequence[str] = (),
) -> tuple[Issue, ...]:
    """At most three entries, the most similar first; none without a common word or without FTS5.

    Left out are those that a server, or each of some versions of it, does not have.
    """
    words = dict.fromkeys(word.lower() for word in _WORD.findall(text[:_CHARACTERS]))
    query = " OR ".join(
        f'"{word}"' for word in islice((word for word in words if word not in _NAMES), _WORDS)
    )
    entries = catalogue() if issues is None else issues
    index = _catalogue_index() if entries is catalogue() else _index(entries)
    if index is None or not query:
        return ()
    with _LOCK:
        rows = index.execute(_CLOSEST, (query,)).fetchall()
    similar = (entries[row] for (row,) in rows)
    return tuple(islice((issue for issue in similar if _may_be_of(issue, server, versions)), _SHOWN))


def _may_be_of(issue: Issue, server: Engine | None, versions: Sequence[str]) -> bool:
    if server is None:
        return True
    reasons = [version_reason(issue, version, engine=server) for version in versions]
    outside = [reason is not None and reason.because is Because.OUTSIDE for reason in reasons]
    return possible_on(issue, server) and not (outside and all(outside))


@cache
def _catalogue_index() -> "sqlite3.Connection | None":
    return _index(catalogue())


def _index(issues: Sequence[Issue]) -> "sqlite3.Connection | None":
    """The words of each entry by its place; None where SQLite lacks FTS5."""
    try:
        import sqlite3  # noqa: PLC0415 -- some builds of Python lack it, and `import inspector` does without it
    except ImportError:
        return None
    index = sqlite3.connect(":memory:", check_same_thread=False)
    try:
        index.execute(_TABLE)
    except sqlite3.OperationalError:
        index.close()
        return None
    index.executemany(
        "INSERT INTO entries(rowid, symptoms, title, cause, steps, examples) VALUES (?, ?, ?, ?, ?, ?)",
        (
            (
                number,
                "\n".join(issue.symptoms),
                issue.title,
                issue.cause,
                "\n".join(step.text for step in issue.steps),
                "\n".join(issue.examples),
            )
            for number, issue in enumerate(issues)
        ),
    )
    return index
