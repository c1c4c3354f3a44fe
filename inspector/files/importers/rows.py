"""JSON values: each is a chunk, an event, a complete response, or a log's row with request and response.

JSON Lines, values one after another (`jq`), a JSON array, or one object. A last value that is cut off is
noted; one that is damaged before it is rejected.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Final

from inspector.capture.bounds import LINES, over
from inspector.capture.capture import Capture
from inspector.capture.errors import CaptureError
from inspector.files.importers.dumps import captures_of
from inspector.files.importers.ids import has_ids
from inspector.files.importers.importer import JSON, Content, Importer
from inspector.files.importers.payloads import is_cut_character, is_stream, stream_answer
from inspector.files.importers.values import Responses, holds_response, is_bare_error
from inspector.protocol.wire.endpoints import DONE, endpoint_of_payload, is_typed_event

_HEAD: Final = 2**20
_LOOKED: Final = 64
"""How many values are read to recognize a file with responses."""
_SEPARATOR: Final = re.compile(r"(?:[\s,\x1e\u2026]|\.{3})*")
"""RFC 7464 begins each value with a record separator; dots stand for values that somebody left out."""
_CUT: Final = "Line {:,} is truncated; all before it was read."


def sniff(content: Content) -> bool:
    """True where one of the first values is or holds what an endpoint sends."""
    if content.items is not None:
        text = _stream(content.items)
        return holds_response(content.items[:_LOOKED] if text is None else [text[:_HEAD]])
    if content.row:
        row = content.row
        whole = endpoint_of_payload(row) is not None and not is_typed_event(row)
        own = whole or has_ids(row) or is_bare_error(row)
        return not own and holds_response([row])
    if content.json_error is None:
        return False
    values: list[object] = []
    with suppress(CaptureError):
        head = content.data[: content.data.find(b"\n", _HEAD) + 1 or None]
        values.extend(islice(_values(head.decode("utf-8", "ignore"), content.name, []), _LOOKED))
    return holds_response(values)


def read(content: Content) -> list[Capture]:
    """The responses; raises CaptureError for a damaged value, which would look like lost tokens."""
    if (text := _stream(content.items)) is not None:
        return captures_of(stream_answer(text.encode("utf-8", "replace"), content.name), content)
    notes: list[str] = []
    is_json = bool(content.items or content.row)
    responses = Responses(content.name, "JSON" if is_json else "JSON Lines", "value" if is_json else "row")
    for value in values_of(content, notes):
        responses.add(value)
    captures = responses.captures()
    if not captures:
        raise content.unsupported(
            "no value has a response of chat completions, Responses, Messages or completions"
        )
    captures[-1] = replace(captures[-1], notes=(*captures[-1].notes, *notes))
    return captures


def values_of(content: Content, notes: list[str]) -> Iterator[object]:
    """The values of an array, or one after another; raises CaptureError for a damaged one."""
    if content.items or content.row:
        yield from content.items or [content.row]
    else:
        yield from _values(_text(content), content.name, notes)


def _stream(items: list[object] | None) -> str | None:
    """The event stream that strings are parts of: lines, events or what a client read at a time."""
    texts = [item for item in items or () if isinstance(item, str)]
    if not texts or len(texts) < len(items or ()) or not is_stream(texts[0][:256].encode("utf-8", "replace")):
        return None
    return ("" if any(text.endswith(("\n", "\r")) for text in texts) else "\n").join(texts)


def _text(content: Content) -> str:
    try:
        return content.data.decode("utf-8")
    except UnicodeDecodeError as error:
        if is_cut_character(content.data, error):
            return content.data.decode("utf-8", "ignore")
        line = content.data.count(b"\n", 0, error.start) + 1
        why = f"byte {error.start} is not valid UTF-8; the file is damaged, save it again"
        raise CaptureError(content.name, why, line=line) from error


def _values(text: str, name: str, notes: list[str]) -> Iterator[object]:
    """The values of a text one after another; a last one that is cut off becomes a note."""
    decode = json.JSONDecoder().raw_decode
    at = count = 0
    while (at := _end(text, at)) < len(text):
        if (count := count + 1) > LINES:
            raise CaptureError(name, over(LINES, "values"))
        if text.startswith(DONE, at):
            yield DONE
            at += len(DONE)
            continue
        try:
            value, at = decode(text, at)
        except RecursionError as error:
            why = "the JSON is nested too deeply; no server sends that"
            raise CaptureError(name, why, line=text.count("\n", 0, at) + 1) from error
        except ValueError as error:
            line = text.count("\n", 0, at) + 1
            rest = text[at:].rstrip()
            if "\n" in rest and getattr(error, "pos", 0) < at + len(rest):
                why = "the JSON is damaged; keep only the lines before it, or save it again"
                raise CaptureError(name, why, line=line) from error
            notes.append(_CUT.format(line))
            return
        yield value


def _end(text: str, at: int) -> int:
    """Where the next value begins."""
    separator = _SEPARATOR.match(text, at)
    return at if separator is None else separator.end()


ROWS: Final = Importer(
    name="rows",
    label="JSON with chunks or responses",
    files=(
        "JSON Lines, a JSON array or an object of chunks, events of Responses or Messages, whole responses, "
        "SGLang's `/generate`, or requests with their responses (logs of LiteLLM, Helicone and other "
        "proxies, transcripts of Claude Code, output of OpenAI's and vLLM's batch API)"
    ),
    becomes=(
        "a capture for each response, without times, with its request where the file has it; chunks belong "
        "together by their `id`. Chunks from a client library have no `[DONE]`, which is then not missed"
    ),
    suffixes=(".jsonl", ".json"),
    begins=JSON,
    by_lines=True,
    sniff=sniff,
    read=read,
)
