"""Parsed values of other programs to captures: chunks, events and whole responses, alone or beside a request.

Each proxy, gateway and log has other keys for request and response, and packs them deeper or as text. So the
values decide: a response is what an endpoint sends, and its request is what stands nearest beside it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from inspector.capture.bounds import CAPTURES, EVENTS, over
from inspector.capture.capture import Capture, Endpoint, Event, EventKind, Header
from inspector.capture.errors import CaptureError
from inspector.capture.formats import count
from inspector.capture.json_values import as_int, as_object, as_string
from inspector.capture.redaction import redact
from inspector.files.importers.payloads import answer, is_error, is_stream, named, parsed_object, shown
from inspector.files.importers.sglang import SOURCE as SGLANG
from inspector.files.importers.sglang import id_of, ids_of, is_result
from inspector.protocol.wire.endpoints import DONE, endpoint_of_payload, envelope_of, spec_of

_DEPTH: Final = 12
_TEXT_DEPTH: Final = 3
"""Texts within texts that are parsed."""
_ASKS: Final = ("messages", "input", "prompt")
_ANSWERS: Final = ("response", "output", "outputs", "choices", "completion", "result")
_INSIDE: Final = ("body", "json", "data", "content", "text", "string", "params", "kwargs", "payload")
"""Keys under which a log of HTTP has the body."""
_OPTIONS: Final = ("model_parameters", "optional_params")
"""Where LiteLLM has what a request asks for beside its messages."""
_STATUS: Final = ("status_code", "statusCode", "response_status", "http_status", "status", "code")
_NAMES: Final = ("custom_id", "request_id")
_SHORTENED: Final = ("litellm_truncated", "redacted-by-litellm")
"""What LiteLLM writes in place of text that it leaves out."""
_MIXED: Final = (
    "the events of several responses are mixed and cannot be separated; save each response as a file"
)
_MESSAGE: Final = "message"
_JOINED: Final = (
    "Joined from {}, each with a part of the message; a token count of the whole is not in the file."
)
_NOTE: Final = "Skipped {} without a response."


@dataclass(frozen=True, slots=True)
class _Place:
    """What stands around a response."""

    request: Mapping[str, object] = field(default_factory=dict)
    status: int | None = None
    name: str = ""
    branch: str = ""
    """The key of the row below which it is."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """One payload: a chunk, an event, a whole response, an error."""

    text: str
    payload: Mapping[str, object] | None
    """None for `[DONE]` and for anything but a JSON object."""
    event: str
    place: _Place
    from_stream: bool
    """True for a part of a text that is an event stream."""
    notes: tuple[str, ...] = ()

    def string(self, key: str) -> str | None:
        return None if self.payload is None else as_string(self.payload.get(key))

    def int(self, key: str) -> int | None:
        return None if self.payload is None else as_int(self.payload.get(key))

    @property
    def endpoint(self) -> Endpoint | None:
        return endpoint_of_payload(self.payload, self.event)

    @property
    def begins(self) -> bool:
        """True for an event that begins a response."""
        first_type = "" if self.endpoint is None else spec_of(self.endpoint).first_type
        return bool(first_type) and self.string("type") == first_type

    @property
    def whole(self) -> bool:
        """True for an unstreamed response."""
        if self.payload is None or self.endpoint is None or self.from_stream:
            return False
        return spec_of(self.endpoint).is_body(self.payload)

    @property
    def is_piece(self) -> bool:
        """True for one block of a message, which Claude Code logs as a row with the message's ID."""
        endpoint = self.endpoint
        named = endpoint is not None and spec_of(endpoint).envelope == self.place.branch == _MESSAGE
        return named and self.whole and bool(_id(self))


@dataclass(slots=True)
class _Stream:
    """The events of one response."""

    endpoint: Endpoint
    sent: list[_Sent]
    open: bool = True


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Bodies that have one message together, each a part of its content."""

    sent: list[_Sent]


@dataclass(frozen=True, slots=True)
class _Results:
    """Objects of SGLang's `/generate` for one request."""

    results: Sequence[Mapping[str, object]]
    place: _Place


class Responses:
    """Gathers responses from values, in their order; streams of one file may be mixed.

    `name` is for errors, `source` for the header, and `unit` what a value is called.
    """

    def __init__(self, name: str, source: str, unit: str = "row") -> None:
        self._name = name
        self._source = source
        self._unit = unit
        self._values = 0
        self._skipped = 0
        self._results: list[_Stream | _Results | _Pieces | Capture] = []
        self._open: dict[object, _Stream] = {}
        self._latest: _Stream | None = None
        self._left_open: set[object] = set()
        """Keys of responses that had not ended when another one began."""
        self._native: dict[str, list[Mapping[str, object]]] = {}
        self._messages: dict[str, _Pieces | _Stream] = {}
        """By the ID of the message."""

    def add(self, value: object) -> None:
        """The responses in a value; raises CaptureError for one that seems to be a damaged chunk."""
        self._values += 1
        added, before = False, self._open
        sent_here = _once(_walk(value, _Place()))
        if len(sent_here) > 1:  # whole streams: the ID of a later row may be the same, as that of a retry
            self._open = {}
        for sent in sent_here:
            if any(mark in sent.text for mark in _SHORTENED):
                why = "LiteLLM left out text of the response; log it without a limit and without redaction"
                raise CaptureError(self._name, f"{self._unit} {self._values:,}: {why}")
            added |= self._take(sent)
        self._open = before
        if not added:
            if _is_damaged(value) and self._latest is not None and self._latest.open:
                why = "is among the chunks of a response, but is none; the file is damaged, save it again"
                raise CaptureError(self._name, f"{self._unit} {self._values:,} ({shown(value)}) {why}")
            self._skipped += 1

    def captures(self) -> list[Capture]:
        """The captures; empty if nothing was a response."""
        captures = [self._capture(result) for result in self._results]
        if captures and self._skipped:
            note = _NOTE.format(count(self._skipped, self._unit))
            captures[0] = replace(captures[0], notes=(*captures[0].notes, note))
        return captures

    def _take(self, sent: _Sent) -> bool:
        """False for an error or an end that belongs to no response."""
        payload, endpoint = sent.payload, sent.endpoint
        if payload is not None and is_result(payload):
            self._take_result(payload, sent.place)
        elif sent.is_piece:
            self._take_piece(sent)
        elif sent.whole or (endpoint is None and is_error(payload) and _failed(sent)):
            self._append(_body(sent, self._source))
        elif endpoint is None:
            if self._latest is None or not self._latest.open:
                return False
            self._extend(self._latest, sent)
        else:
            key = _key(sent, endpoint)
            stream = self._open.get(key)
            if stream is None or not stream.open or sent.begins:
                self._check_order(key, sent)
                stream = _Stream(endpoint, [])
                self._append(stream)
                self._open[key] = stream
                if sent.begins and payload is not None:
                    self._messages[as_string(envelope_of(payload).get("id")) or ""] = stream
            self._latest = stream
            self._extend(stream, sent)
        return True

    def _check_order(self, key: object, sent: _Sent) -> None:
        """Raise CaptureError where a response goes on after the end of one that began within it."""
        before = self._open.get(key)
        if sent.begins and before is not None and before.open:
            self._left_open.add(key)
        elif not sent.begins and key in self._left_open:
            raise CaptureError(self._name, _MIXED)

    def _take_piece(self, sent: _Sent) -> None:
        earlier = self._messages.get(_id(sent))
        if isinstance(earlier, _Pieces):
            earlier.sent.append(sent)
        elif earlier is None:  # otherwise its events are there
            pieces = self._messages[_id(sent)] = _Pieces([sent])
            self._append(pieces)

    def _take_result(self, result: Mapping[str, object], place: _Place) -> None:
        key = id_of(result)
        if key is not None and (earlier := self._native.get(key)) is not None:
            earlier.append(result)
            return
        results = [result]
        if key is not None:
            self._native[key] = results
        self._append(_Results(results, place))

    def _append(self, result: _Stream | _Results | _Pieces | Capture) -> None:
        if len(self._results) >= CAPTURES:
            raise CaptureError(self._name, over(CAPTURES, "responses"))
        self._results.append(result)

    def _extend(self, stream: _Stream, sent: _Sent) -> None:
        if len(stream.sent) >= EVENTS:
            raise CaptureError(self._name, over(EVENTS, "events"))
        stream.sent.append(sent)
        if sent.text == DONE or sent.string("type") in spec_of(stream.endpoint).terminal_types:
            stream.open = False

    def _capture(self, stream: _Stream | _Results | _Pieces | Capture) -> Capture:
        if isinstance(stream, Capture):
            return stream
        if isinstance(stream, _Pieces):
            return _joined(stream.sent, self._source)
        if isinstance(stream, _Results):
            ids = ids_of(stream.results, self._name)
            header = _header({}, stream.place, Endpoint.TOKENS, SGLANG)
            return Capture(header=header, events=[Event(json.dumps(ids))])
        first = stream.sent[0]
        if len(stream.sent) == 1 and not first.from_stream and _finished(first.payload):
            return _body(first, self._source)  # chunk and whole response of completions look alike
        if spec_of(stream.endpoint).numbered and len(self._results) > 1:
            numbered = {(sent.int("sequence_number"), sent.text) for sent in stream.sent}
            if len({number for number, _ in numbered}) < len(numbered):
                raise CaptureError(self._name, _MIXED)
        header = _header(first.payload, first.place, stream.endpoint, self._source)
        from_stream = any(sent.from_stream or sent.text == DONE for sent in stream.sent)
        header = replace(header, from_client=not from_stream and not spec_of(stream.endpoint).terminal_types)
        events = [Event(sent.text, None, sent.event) for sent in stream.sent]
        events = [
            event if sent.from_stream else named(event, stream.endpoint)
            for event, sent in zip(events, stream.sent, strict=True)
        ]
        notes = tuple(dict.fromkeys(note for sent in stream.sent for note in sent.notes))
        return Capture(header=header, events=events, notes=notes)


def _is_damaged(value: object) -> bool:
    """True for what may be a chunk whose other keys were lost, not a line of a log between chunks."""
    return not isinstance(value, dict) or "choices" in value or ("delta" in value and "type" not in value)


def results_of(payloads: Iterable[str], name: str) -> list[Capture]:
    """The captures of the payloads of a stream of SGLang's `/generate`; empty for another stream."""
    responses = Responses(name, SGLANG)
    for payload in map(parsed_object, payloads):
        if is_result(payload):
            responses.add(payload)
    return responses.captures()


def holds_response(values: Sequence[object]) -> bool:
    """True if one of the values is or holds what an endpoint sends."""
    return any(
        sent.endpoint is not None or _failed(sent) or is_result(sent.payload)
        for value in values
        for sent in _walk(value, _Place())
    )


def _walk(value: object, place: _Place, depth: int = _DEPTH, texts: int = _TEXT_DEPTH) -> Iterator[_Sent]:
    """The payloads in a value, in their order."""
    if depth == 0:
        return
    if isinstance(value, str):
        if texts:
            yield from _walk_text(value, place, depth, texts - 1)
    elif isinstance(value, list):
        for item in value:
            yield from _walk(item, place, depth - 1, texts)
    elif isinstance(value, dict):
        if endpoint_of_payload(value) is not None or is_result(value) or is_bare_error(value):
            yield _Sent(dumped(value), value, "", place, from_stream=False)
            return
        place = _around(value, place)
        for key, inner in value.items():
            if isinstance(inner, dict | list | str) and _request(inner) is None:
                yield from _walk(inner, replace(place, branch=place.branch or key), depth - 1, texts)


def _once(sent: Iterable[_Sent]) -> list[_Sent]:
    """The payloads of a row, each response from one of its keys: as a stream where it has that too."""
    payloads = list(sent)
    branches: dict[str, _Sent] = {}
    for payload in payloads:
        name = _id(payload)
        if name and (name not in branches or (branches[name].whole and not payload.whole)):
            branches[name] = payload
    return [
        payload
        for payload in payloads
        if not (name := _id(payload)) or branches[name].place.branch == payload.place.branch
    ]


def _id(sent: _Sent) -> str:
    return sent.string("id") or ""


def _walk_text(text: str, place: _Place, depth: int, texts: int) -> Iterator[_Sent]:
    if text.strip() == DONE:
        yield _Sent(DONE, None, "", place, from_stream=False)
    elif is_stream(text[:256].encode("utf-8", "replace")):
        stream = answer(text.encode("utf-8", "replace"), "text")
        for event in stream.events:
            if event.kind is EventKind.SSE:
                payload = parsed_object(event.data)
                notes = stream.notes if event is stream.events[-1] else ()
                yield _Sent(event.data, payload, event.name, place, from_stream=True, notes=notes)
    elif text.lstrip()[:1] in {"{", "["} and ('"object"' in text or '"type"' in text or '"error"' in text):
        try:
            inner = json.loads(text)
        except (ValueError, RecursionError):
            return
        for sent in _walk(inner, place, depth - 1, texts):
            yield replace(sent, text=text) if sent.payload is inner else sent


def dumped(value: object) -> str:
    """A value as JSON; empty where it is nested too deeply."""
    try:
        return json.dumps(value)
    except (ValueError, RecursionError):
        return ""


def _around(row: Mapping[str, object], place: _Place) -> _Place:
    """The place of what is in a row."""
    request = next(
        (own_request for value in row.values() if (own_request := _request(value)) is not None), None
    )
    if request is None and isinstance(row.get("messages"), list):
        options = next((options for key in _OPTIONS if (options := as_object(row.get(key)))), None)
        if options is not None:
            request = {**options, **{key: row[key] for key in ("model", *_ASKS) if key in row}}
    status = next((code for key in _STATUS if (code := _status(row.get(key))) is not None), place.status)
    return _Place(place.request if request is None else request, status, _name(row, place), place.branch)


def _name(row: Mapping[str, object], place: _Place) -> str:
    names = (place.name, *(row.get(key) for key in _NAMES))
    return next((name for name in names if name and isinstance(name, str)), "")


def _status(value: object) -> int | None:
    if isinstance(value, dict):
        value = value.get("code")
    status = as_int(value)
    return status if status is not None and 100 <= status < 600 else None


def _request(value: object, depth: int = 2) -> Mapping[str, object] | None:
    """The body of a request that a value is, as text or under a key of HTTP logs."""
    if isinstance(value, str) and value.startswith("{") and any(f'"{key}"' in value for key in _ASKS):
        value = parsed_object(value)
    if not isinstance(value, dict) or endpoint_of_payload(value) is not None:
        return None
    if any(key in value for key in _ANSWERS):
        return None
    if isinstance(value.get("messages"), list) or ("model" in value and any(key in value for key in _ASKS)):
        return value
    inner = (_request(value[key], depth - 1) for key in _INSIDE if depth and key in value)
    return next((request for request in inner if request is not None), None)


def is_bare_error(value: Mapping[str, object]) -> bool:
    """True for an error that is a payload itself, not a row that says whether there was one."""
    other_members = any(key in value for key in (*_ANSWERS, *_ASKS, *_NAMES, "request"))
    return is_error(value) and not other_members and not isinstance(value.get("error"), str)


def _failed(sent: _Sent) -> bool:
    return sent.place.status is not None and sent.place.status >= 400


def _key(sent: _Sent, endpoint: Endpoint) -> object:
    """What tells apart the streams of a file: the response's ID, which each chunk has."""
    return endpoint, sent.place.name, "" if spec_of(endpoint).first_type else _id(sent)


def _finished(payload: Mapping[str, object] | None) -> bool:
    """True for a completion whose choices all have ended."""
    if payload is None or payload.get("object") != "text_completion":
        return False
    choices = payload.get("choices")
    return isinstance(choices, list) and all(
        isinstance(choice, dict) and choice.get("finish_reason") is not None for choice in choices
    )


def _header(payload: Mapping[str, object] | None, place: _Place, endpoint: Endpoint, source: str) -> Header:
    payload = payload or {}
    inner = envelope_of(payload)
    return Header(
        endpoint=endpoint,
        request=redact(place.request),
        model=as_string(inner.get("model")),
        status=place.status,
        source=source,
        extra={"request_id": place.name} if place.name else {},
    )


def _joined(pieces: Sequence[_Sent], source: str) -> Capture:
    """The message of which the rows have parts, without their counts: each has that of its time."""
    last = pieces[-1]
    contents = [piece.payload.get("content") for piece in pieces if piece.payload is not None]
    content = [block for blocks in contents if isinstance(blocks, list) for block in blocks]
    whole = {**(last.payload or {}), "content": content}
    if len(pieces) == 1 and whole.get("stop_reason") is not None:
        return _body(last, source)
    whole.pop("usage", None)
    capture = _body(replace(last, text=dumped(whole)), source)
    header = replace(capture.header, from_client=True)
    return replace(capture, header=header, notes=(_JOINED.format(count(len(pieces), "row")),))


def _body(sent: _Sent, source: str) -> Capture:
    endpoint = sent.endpoint
    header = _header(sent.payload, sent.place, endpoint or Endpoint.CHAT, source)
    header = replace(header, endpoint_guessed=endpoint is None)
    return Capture(header=header, events=[Event(sent.text, kind=EventKind.BODY)])
