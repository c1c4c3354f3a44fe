"""One item to its rows: the same bytes, captures, findings and verdicts that `audit` has.

Everything that a scan computes is here, so that one process, a pool and Ray give the same rows.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from inspector.analysis.audit import Finding, Severity, explain
from inspector.capture.capture import Capture, Endpoint
from inspector.capture.collector import collector_paused
from inspector.capture.errors import InspectorError
from inspector.capture.formats import clip
from inspector.data.scan.columns import CAPTURES, FINDINGS, UNREAD, version_order
from inspector.data.scan.items import ItemReader, ScanItem
from inspector.files.store import loads_all
from inspector.inspection.inspection import Inspection, channel_of, inspect
from inspector.issues import Cause
from inspector.protocol.engines import UNKNOWN, VERSION_AT_MOST
from inspector.protocol.harmony.vocab import MARKERS
from inspector.protocol.wire.stream import loads
from inspector.views.delivery import delivery_of

Row = tuple[Any, ...]
"""The values of a row, in the order of its table's columns."""

_ERROR_KEYS: Final = frozenset({"code", "type", "param"})
_WORDS: Final = 200
_SENTENCE: Final = 2000
_INDEX: Final = 2**31


class Rows(NamedTuple):
    """The rows of some items."""

    captures: list[Row]
    findings: list[Row]


_READER: Final = ItemReader()
"""One for each process: the members of an archive come in several batches."""


def rows_of_batch(items: Sequence[ScanItem]) -> Rows:
    """The rows of several items."""
    rows = Rows([], [])
    with collector_paused():  # a batch is small
        for item in items:
            item_rows = rows_of(item, _READER)
            rows.captures.extend(item_rows.captures)
            rows.findings.extend(item_rows.findings)
    return rows


def release() -> None:
    """Close the archive that is still open in this process."""
    _READER.close()


def rows_of(item: ScanItem, reader: ItemReader) -> Rows:
    """The rows of one item; one that cannot be read has a row with its error."""
    digest: str | None = None
    try:
        content = reader.content(item)
        digest = digest_of(content)
        captures = loads_all(content, item.name)
        del content
        if captures and (problem := _no_capture(captures)):
            return unread(item, problem, digest)
        rows = Rows([], [])
        several = len(captures) > 1
        for number, capture in enumerate(captures, 1):
            name = f"{item.name}#{number}" if several else item.name
            _add(rows, _place(item, digest, number, name), capture)
        return rows
    except InspectorError as error:
        return unread(item, _without_name(str(error), item.name), digest)
    except (MemoryError, RecursionError) as error:
        return unread(item, f"is too much to read ({type(error).__name__}); read it alone", digest)
    except Exception as error:  # a mistake of ours may not end a scan of thousands
        words = f"the program failed on it ({type(error).__name__}: {error}); please report it with the file"
        return unread(item, words, digest)


def _without_name(error: str, name: str) -> str:
    """An error without the name of its file, which has a column of its own."""
    if error.startswith(f"{name}: "):
        return error.removeprefix(f"{name}: ")
    return f"line {error.removeprefix(f'{name}:')}" if error.startswith(f"{name}:") else error


def _no_capture(captures: Sequence[Capture]) -> str:
    """Why a file that happens to have numbers, or an `error`, is not a capture; empty for captures."""
    if all(capture.header.endpoint is Endpoint.TOKENS for capture in captures):
        ids = (token_id for capture in captures for event in capture.events for token_id in _ids(event.data))
        return "" if not MARKERS.isdisjoint(ids) else "has numbers without a special token of Harmony"
    if all(capture.header.endpoint_guessed and capture.header.status is None for capture in captures):
        errors = (loads(event.data) for capture in captures for event in capture.events)
        return "" if any(map(_is_server_error, errors)) else "has an error that no server of gpt-oss sends"
    return ""


def _ids(text: str) -> list[Any]:
    ids = loads(text)
    return [token_id for token_id in ids if type(token_id) is int] if isinstance(ids, list) else []


def _is_server_error(payload: object) -> bool:
    """True for an error as OpenAI's API and vLLM write it."""
    if not isinstance(payload, dict):
        return False
    error = payload.get("error", payload)
    if not isinstance(error, dict):
        return False
    return isinstance(error.get("message"), str) and not _ERROR_KEYS.isdisjoint(error)


def unread(item: ScanItem, error: str, digest: str | None = None) -> Rows:
    """The row of an item that could not be read."""
    values = {
        **_place(item, digest, 1, item.name),
        "verdict": UNREAD,
        "sentence": _clean(f"The file could not be read: {error}", _SENTENCE),
        "findings": 0,
        "errors": 0,
        "error": _clean(error, _SENTENCE),
    }
    return Rows([tuple(values.get(column.name) for column in CAPTURES)], [])


def digest_of(content: bytes) -> str:
    """The hash of a file's content."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def capture_key(path: str, member: str | None, number: int) -> str:
    """The key of a capture's row."""
    key = f"{path}\0{member or ''}\0{number}".encode()
    return hashlib.blake2b(key, digest_size=10).hexdigest()


def _place(item: ScanItem, digest: str | None, number: int, name: str) -> dict[str, Any]:
    path, member = item.key
    return {
        "id": capture_key(path, member, number),
        "path": path,
        "member": member,
        "number": number,
        "name": _clean(name, _WORDS),
        "size": item.size,
        "stamp": item.stamp,
        "digest": digest,
    }


def _add(rows: Rows, place: dict[str, Any], capture: Capture) -> None:
    inspection = inspect(capture, name=place["name"])
    row = {**place, **_facts(inspection)}
    rows.captures.append(tuple(row[column.name] for column in CAPTURES))
    tokens = {choice.index: len(choice.tokens) for choice in inspection.reading.choices}
    for order, (finding, cause) in enumerate(zip(inspection.findings, inspection.causes, strict=True), 1):
        values = _finding(inspection, finding, cause, tokens.get(finding.choice, 0))
        values |= {"capture": place["id"], "place": order}
        rows.findings.append(tuple(values[column.name] for column in FINDINGS))


def _facts(inspection: Inspection) -> dict[str, Any]:
    reading, judged, cause = inspection.reading, inspection.verdict, inspection.cause
    header = reading.header
    version = _clean(reading.server_version, VERSION_AT_MOST) if reading.server_version else None
    started = _moment(header.started_at)
    tokens = sum(len(choice.tokens) for choice in reading.choices)
    carried = Counter(reading.choice.tokens.events)
    if min(carried, default=0) < 0:  # tokens that no event brought
        carried = Counter({event: many for event, many in carried.items() if event >= 0})
    first = next(iter(carried), None)
    last = reading.events[-1].at_s if reading.events else None
    return {
        "started_at": started,
        "day": None if started is None else started.date().isoformat(),
        "model": _text(reading.model),
        "version": version,
        "version_order": None if version is None else version_order(version),
        "front_end": None if reading.engine is UNKNOWN or reading.engine.may_be else reading.engine.name,
        "endpoint": header.endpoint.value,
        "status": header.status if header.status is None or abs(header.status) < _INDEX else None,
        "origin": _text(header.source),
        "verdict": judged.level.value,
        "sentence": _clean(judged.sentence, _SENTENCE),
        "cause": None if cause is None else cause.id or None,
        "confidence": None if cause is None else cause.confidence.value,
        "evidence": reading.choice.evidence.value,
        "finish_reason": _text(reading.choice.finish_reason),
        "choices": len(reading.choices),
        "tokens": tokens or None,
        "events": len(reading.events),
        "tokens_per_event": max(carried.values(), default=None),
        "first_token_s": None if first is None else reading.arrival_s(first),
        "duration_s": last,
        "findings": len(inspection.findings),
        "errors": sum(finding.severity is Severity.ERROR for finding in inspection.findings),
        "error": None,
        "delivery": delivery_of(inspection).value,
    }


def _finding(inspection: Inspection, finding: Finding, cause: Cause | None, tokens: int) -> dict[str, Any]:
    start = finding.token_start
    return {
        "kind": finding.kind.value,
        "code": finding.code.value,
        "severity": finding.severity.value,
        "choice": min(finding.choice, _INDEX),
        "channel": _text(
            channel_of(finding, inspection.reading.choices) or finding.fact_row().get("channel")
        ),
        "field": _text(finding.field),
        "delivered_in": _text(finding.delivered_in),
        "token": start,
        "token_end": finding.token_end,
        "event": finding.event_start,
        "position": None if start is None or not tokens else min(1.0, start / tokens),
        "finding_cause": None if cause is None else cause.id or None,
        "message": _clean(explain(finding), _SENTENCE),
    }


def _moment(started_at: str | None) -> datetime | None:
    """The time of a request in UTC, as tables have it: without a zone."""
    try:
        moment = datetime.fromisoformat(started_at or "")
        return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None


def _text(value: object) -> str | None:
    return _clean(value, _WORDS) if isinstance(value, str) and value else None


def _clean(text: str, limit: int) -> str:
    """Text that UTF-8 can encode, which a name on disk and a stream's JSON need not be."""
    return clip(text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8"), limit)
