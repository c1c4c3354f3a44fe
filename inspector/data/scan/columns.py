"""The two tables of a scan, column by column: names, types and what they mean.

`docs/scan.md` shows them, Parquet files have them, and the filter language knows no others. Columns are
added at the end of a table and never renamed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from inspector.analysis.audit.kinds import KINDS, Code, Kind, Severity
from inspector.analysis.audit.verdict import Level
from inspector.analysis.reading import Evidence
from inspector.capture.capture import Endpoint
from inspector.views.delivery import Delivery

UNREAD: Final = "unread"
"""The verdict of a file that could not be read."""


class Type(StrEnum):
    """What a column holds."""

    TEXT = "text"
    NUMBER = "number"
    DECIMAL = "decimal"
    TIME = "time"
    VERSION = "version"
    """Text that is compared and sorted by its numbers: 0.9 comes before 0.10."""


class Table(StrEnum):
    """The two tables."""

    CAPTURES = "captures"
    FINDINGS = "findings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column."""

    name: str
    type: Type
    table: Table
    meaning: str
    values: tuple[str, ...] = ()
    """All values that there are, for a closed set."""
    labels: Mapping[str, str] = field(default_factory=dict, compare=False)
    """What tables show instead of a value, and the value that a filter takes for it."""
    hidden: bool = False
    """True for a column that only serves another."""


_KINDS: Final = {info.label: kind.value for kind, info in KINDS.items()}


def _table(
    table: Table, *columns: tuple[str, Type, str], values: Mapping[str, Sequence[str]]
) -> list[Column]:
    return [
        Column(
            name=name,
            type=type_,
            table=table,
            meaning=meaning,
            values=tuple(values.get(name, ())),
            labels=_KINDS if name == "kind" else {},
            hidden=name in {"capture", "version_order"},
        )
        for name, type_, meaning in columns
    ]


CAPTURES: Final = _table(
    Table.CAPTURES,
    ("id", Type.TEXT, "key of the row: a hash of path, member and number"),
    (
        "path",
        Type.TEXT,
        "absolute path of the file or archive, or its URL; `file://` where the name is no UTF-8",
    ),
    ("member", Type.TEXT, "path inside a zip archive; null for other files"),
    ("number", Type.NUMBER, "number of the capture in the file, from 1"),
    ("name", Type.TEXT, "file name, with `#` and the number where a file has several captures"),
    ("size", Type.NUMBER, "bytes of the file or member"),
    (
        "stamp",
        Type.TEXT,
        "a value that changes with the file: its time, an object's ETag, a member's checksum",
    ),
    ("digest", Type.TEXT, "BLAKE2b hash of the content (128 bits); null if it could not be read"),
    ("started_at", Type.TIME, "time of the request, UTC; null if the capture does not have it"),
    ("day", Type.TEXT, "its date, e.g. `2026-11-22`"),
    ("model", Type.TEXT, "model"),
    ("version", Type.VERSION, "version of the server"),
    ("version_order", Type.TEXT, "the version as a text that sorts by its numbers"),
    (
        "front_end",
        Type.TEXT,
        "server or front end, by its key in the engine table; null if unknown",
    ),
    ("endpoint", Type.TEXT, "endpoint of the request"),
    ("status", Type.NUMBER, "HTTP status"),
    ("origin", Type.TEXT, "the program or kind of file that it was recorded with"),
    ("verdict", Type.TEXT, "level of the verdict; `unread` for a file that could not be read"),
    ("sentence", Type.TEXT, "the verdict in one sentence"),
    ("cause", Type.TEXT, "known issue named for the verdict"),
    ("confidence", Type.TEXT, "confidence of that match"),
    ("evidence", Type.TEXT, "what the delivered text was checked against"),
    ("finish_reason", Type.TEXT, "finish reason of the first choice"),
    ("choices", Type.NUMBER, "choices of the response"),
    ("tokens", Type.NUMBER, "token IDs of all choices; null if none is known"),
    ("events", Type.NUMBER, "events of the response"),
    ("tokens_per_event", Type.NUMBER, "largest number of token IDs in one event; null if none is known"),
    ("first_token_s", Type.DECIMAL, "seconds from the request to the first token ID"),
    ("duration_s", Type.DECIMAL, "seconds from the request to the last event"),
    ("findings", Type.NUMBER, "findings"),
    ("errors", Type.NUMBER, "findings of severity error"),
    ("error", Type.TEXT, "why the file could not be read, in one sentence; null if it could"),
    ("delivery", Type.TEXT, "what the client got, in a few words; null for a file that could not be read"),
    values={
        "delivery": [delivery.value for delivery in Delivery],
        "endpoint": [endpoint.value for endpoint in Endpoint],
        "verdict": [*(level.value for level in Level), UNREAD],
        "evidence": [evidence.value for evidence in Evidence],
    },
)
"""One row for each capture, and one for each file that could not be read."""

FINDINGS: Final = _table(
    Table.FINDINGS,
    ("capture", Type.TEXT, "`id` of the capture"),
    ("place", Type.NUMBER, "number of the finding in the capture, from 1, in the order of `audit`"),
    ("kind", Type.TEXT, "kind"),
    ("code", Type.TEXT, "what exactly was found, finer than the kind"),
    ("severity", Type.TEXT, "severity"),
    ("choice", Type.NUMBER, "index of the choice"),
    ("channel", Type.TEXT, "channel of the message that it is in; null if there is no such message"),
    ("field", Type.TEXT, "field in which the text belongs, e.g. `content`"),
    ("delivered_in", Type.TEXT, "the wrong field, for misrouted text"),
    ("token", Type.NUMBER, "index of the first token, from 0"),
    ("token_end", Type.NUMBER, "index of the token after the last"),
    ("event", Type.NUMBER, "index of the first event, from 0"),
    ("position", Type.DECIMAL, "where the first token is in the response: 0 at its start, 1 at its end"),
    ("finding_cause", Type.TEXT, "known issue that explains the finding"),
    ("message", Type.TEXT, "the finding in one sentence"),
    values={
        "kind": [kind.value for kind in Kind],
        "code": [code.value for code in Code],
        "severity": [severity.value for severity in Severity],
    },
)
"""One row for each finding."""

CAPTURE_COLUMNS: Final = {column.name: column for column in CAPTURES}
FINDING_COLUMNS: Final = {column.name: column for column in FINDINGS}

_PARTS: Final = 4
_DIGITS: Final = 6


def version_order(version: str) -> str:
    """A version as a text that sorts by its numbers; other versions come after all numbers."""
    numbers: list[str] = []
    for part in version.removeprefix("v").split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits.isascii() or not digits:
            break
        numbers.append(digits[:_DIGITS].rjust(_DIGITS, "0"))
        if digits != part:
            break
    if not numbers:
        return f"~{version}"
    return ".".join([*numbers, *["0" * _DIGITS] * _PARTS][:_PARTS])
