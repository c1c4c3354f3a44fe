"""Chat streams in other forms: deltas or choices as `jq` extracts them, and Ollama's `/api/chat`.

Each value becomes the chunk that it is a part of, or that Ollama's `/v1/chat/completions` sends for the same.
Ollama's fields are those of its API (`thinking`, `tool_calls` with arguments as an object, `done_reason`,
`eval_count`).
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

from inspector.capture.bounds import EVENTS, over
from inspector.capture.capture import Capture, Endpoint, Event, EventKind, Header
from inspector.capture.errors import CaptureError
from inspector.capture.json_values import as_int, as_object, as_string
from inspector.files.importers.importer import JSON, Content, Importer
from inspector.files.importers.rows import values_of
from inspector.files.importers.values import dumped
from inspector.protocol.wire.endpoints import spec_of

_LOOKED: Final = 64
_CHUNK, _BODY = spec_of(Endpoint.CHAT).objects
_DELTA: Final = frozenset(
    {"role", "content", "reasoning", "reasoning_content", "tool_calls", "refusal", "function_call"}
)
_TYPICAL: Final = frozenset({"reasoning", "reasoning_content", "tool_calls"})
_ASSISTANT: Final = "assistant"
_FROM_DELTAS: Final = "Read as the deltas of one chat stream; what else its chunks had is not in the file."
_FROM_CHOICES: Final = "Read as the choices of one chat stream; what else its chunks had is not in the file."
_FROM_OLLAMA: Final = "Translated from Ollama's /api/chat to the chunks of its /v1/chat/completions."
_FINGERPRINT: Final = "fp_ollama"
_ID: Final = "ollama"
_DONE: Final = "stop"

_Row = Mapping[str, Any]


def sniff(content: Content) -> bool:
    """True for values that all are deltas, choices, or lines of Ollama."""
    rows = _first(content)
    return bool(rows) and (_are_ollama(rows) or _are_choices(rows) or _are_deltas(rows))


def read(content: Content) -> list[Capture]:
    """One chat response; Ollama's begins again after a line that is done."""
    notes: list[str] = []
    rows = [row for row in values_of(content, notes) if isinstance(row, dict)]
    if len(rows) > EVENTS:
        raise CaptureError(content.name, over(EVENTS, "events"))
    if _are_ollama(rows[:_LOOKED]):
        return _ollama(rows, notes)
    deltas = _are_deltas(rows[:_LOOKED])
    choices = [{"index": 0, "delta": row, "finish_reason": None} if deltas else row for row in rows]
    header = Header(
        endpoint=Endpoint.CHAT, source="deltas" if deltas else "choices", excerpt=deltas, from_client=True
    )
    events = [_chunk({"choices": [choice]}) for choice in choices]
    return [Capture(header=header, events=events, notes=(_FROM_DELTAS if deltas else _FROM_CHOICES, *notes))]


def _first(content: Content) -> list[_Row]:
    """The first values; empty if one of them is not an object."""
    if not content.begins_as_json:
        return []
    try:
        rows = list(islice(values_of(content, []), _LOOKED))
    except CaptureError:
        return []
    return (
        [row for row in rows if isinstance(row, dict)] if all(isinstance(row, dict) for row in rows) else []
    )


def _are_deltas(rows: Sequence[_Row]) -> bool:
    """Whether rows are deltas, not messages or rows of a data set: only the first may have a role."""
    roles = {as_string(row["role"]) for row in rows[:1] if "role" in row}
    return (
        len(rows) > 1
        and all(_DELTA.issuperset(row) for row in rows)
        and not any("role" in row for row in rows[1:])
        and roles <= {_ASSISTANT}
        and (bool(roles) or any(not row or not _TYPICAL.isdisjoint(row) for row in rows))
    )


def _are_choices(rows: Sequence[_Row]) -> bool:
    return all(isinstance(row.get("delta"), dict) and "index" in row for row in rows)


def _are_ollama(rows: Sequence[_Row]) -> bool:
    return all(
        "error" in row or (isinstance(row.get("message"), dict) and "done" in row) for row in rows
    ) and any("done" in row for row in rows)


def _ollama(rows: Sequence[_Row], notes: Sequence[str]) -> list[Capture]:
    captures: list[Capture] = []
    start = 0
    for end in [at for at, row in enumerate(rows, 1) if row.get("done") is True or at == len(rows)]:
        part = rows[start:end]
        whole = len(part) == 1 and part[0].get("done") is True
        calls = 0
        events = []
        for row in part:
            events.append(_ollama_chunk(row, calls, whole=whole))
            calls += len(_calls(row))
        model = next((name for row in part if (name := as_string(row.get("model")))), None)
        header = Header(endpoint=Endpoint.CHAT, model=model, source="Ollama /api/chat", from_client=True)
        captures.append(Capture(header=header, events=events, notes=(_FROM_OLLAMA, *notes)))
        start = end
    return captures


def _ollama_chunk(row: _Row, calls: int, *, whole: bool) -> Event:
    if "message" not in row:
        return Event(dumped(row))
    message = as_object(row["message"])
    delta: dict[str, Any] = {key: message[key] for key in ("role", "content") if key in message}
    if thinking := as_string(message.get("thinking")):
        delta["reasoning"] = thinking
    if listed := _calls(row):
        delta["tool_calls"] = [_call(call, number) for number, call in enumerate(listed, calls)]
    done = row.get("done") is True
    choice = {
        "index": 0,
        "message" if whole else "delta": delta,
        "finish_reason": (as_string(row.get("done_reason")) or _DONE) if done else None,
    }
    counts = {
        "prompt_tokens": as_int(row.get("prompt_eval_count")),
        "completion_tokens": as_int(row.get("eval_count")),
    }
    usage = {"usage": counts} if counts["completion_tokens"] is not None else {}
    chunk = {
        "id": _ID,
        "created": 0,
        "model": row.get("model"),
        "system_fingerprint": _FINGERPRINT,
        "choices": [choice],
        **usage,
    }
    return _chunk(chunk, whole=whole)


def _calls(row: _Row) -> list[Any]:
    calls = as_object(row.get("message")).get("tool_calls")
    return calls if isinstance(calls, list) else []


def _call(call: object, number: int) -> dict[str, Any]:
    function = as_object(as_object(call).get("function"))
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else dumped(arguments)
    return {
        "index": number,
        "id": as_string(as_object(call).get("id")) or f"call_{number}",
        "type": "function",
        "function": {"name": function.get("name"), "arguments": text},
    }


def _chunk(chunk: _Row, *, whole: bool = False) -> Event:
    text = dumped({"object": _BODY if whole else _CHUNK, **chunk})
    return Event(text, kind=EventKind.BODY if whole else EventKind.SSE)


TRANSLATED: Final = Importer(
    name="translated",
    label="",
    files=(
        "deltas or choices without their chunks (`jq -c '.choices[0].delta'`), or Ollama's `/api/chat`, "
        "streamed or not"
    ),
    becomes="chat chunks, or one `body`, with a note; deltas alone are an excerpt",
    suffixes=(".jsonl", ".json", ".txt"),
    begins=JSON,
    by_lines=True,
    sniff=sniff,
    read=read,
)
