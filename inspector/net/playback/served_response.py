"""A capture as the response to one request, streamed or whole.

Token IDs, usage and the stream itself are sent only if the request asks for them, as vLLM does. The request's
prompt, tools and sampling change nothing: the response was recorded.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.analysis.reading import ChoiceReading, Reading, read
from inspector.capture.capture import Capture, Endpoint, Event, EventKind
from inspector.capture.errors import InspectorError
from inspector.net.playback.faults import Faults
from inspector.net.playback.imitation import TextServing
from inspector.net.playback.reshape import error_body, reshape, with_event_faults
from inspector.protocol.engines import engine_of
from inspector.protocol.wire.endpoints import DONE, envelope_of, spec_of
from inspector.protocol.wire.event_json import choice_of, dumps, ids_of, payload
from inspector.protocol.wire.strip_ids import without_token_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedResponse:
    """What is sent."""

    status: int
    events: Sequence[Event]
    """Of a stream; one `body` event for a whole response."""
    cut: bool = False
    """The connection breaks after the last event, as it did in the recording."""

    @property
    def streams(self) -> bool:
        """True for an event stream."""
        return not any(event.kind is EventKind.BODY for event in self.events)


def served_response(
    capture: Capture, endpoint: Endpoint, request: Mapping[str, Any], faults: Faults
) -> ServedResponse:
    """The capture as the response to a request at `endpoint`.

    Raises InspectorError if the capture cannot be sent in the requested form, or cannot show a fault.
    """
    status = capture.header.status or 200
    cut = capture.end is not None and capture.end.cut
    if any(event.kind is EventKind.BODY for event in capture.events):
        body = [event for event in capture.events if event.kind is EventKind.BODY]
        if status < 400 and request.get("stream"):
            raise InspectorError("this capture is an unstreamed response; request it without stream")
        return ServedResponse(
            status=status, events=_requested_parts(body, capture, endpoint, request), cut=cut
        )
    if endpoint is not capture.header.endpoint:
        capture = as_completion(capture, request)
    shaped = reshape(capture, faults)
    if request.get("stream"):
        events = with_event_faults(_requested_parts(shaped, capture, endpoint, request), faults, endpoint)
        return ServedResponse(status=status, events=events, cut=cut)
    # Half an event of a stream would be a silent loss; a whole response is cut in half itself.
    shaped = with_event_faults(shaped, replace(faults, malformed=None), endpoint)
    reading = read(Capture(header=capture.header, events=shaped, end=capture.end))
    status, value = _unstreamed(reading)
    body = [Event(dumps(value), shaped[-1].at_s if shaped else None, "", EventKind.BODY)]
    body = _requested_parts(body, capture, endpoint, request)
    if faults.malformed is not None:
        body = [event._replace(data=event.data[: len(event.data) // 2]) for event in body]
    return ServedResponse(status=status, events=body, cut=cut)


def as_completion(capture: Capture, request: Mapping[str, Any]) -> Capture:
    """A chat capture's tokens as /v1/completions would stream them: the ground truth of the same response.

    Raises InspectorError when the capture has no token IDs.
    """
    special_tokens = request.get("skip_special_tokens") is False
    servings: dict[str, TextServing] = {}
    events: list[Event] = []
    model = capture.header.model or "playback"
    base = {"id": "cmpl-playback", "object": "text_completion", "created": 0, "model": model}
    for event in capture.events:
        chunk = payload(event)
        choice, ids = choice_of(chunk), ids_of(chunk)
        if choice is not None and ids:
            index = choice.get("index", 0)
            serving = servings.setdefault(dumps(index), TextServing(special_tokens=special_tokens))
            finish = choice.get("finish_reason")
            finish = "stop" if finish == "tool_calls" else finish  # completions know no tools
            row = {
                "index": index,
                "text": serving.deliver(ids, stopped=finish == "stop"),
                "logprobs": None,
                "finish_reason": finish,
                "stop_reason": choice.get("stop_reason"),
                "prompt_token_ids": None,
                "token_ids": ids,
            }
            events.append(event._replace(data=dumps({**base, "choices": [row], "usage": None})))
        elif chunk and chunk.get("choices") == [] and isinstance(chunk.get("usage"), dict):
            events.append(event._replace(data=dumps({**base, "choices": [], "usage": chunk["usage"]})))
        elif event.data == DONE:
            events.append(event)
    if not servings:
        raise InspectorError(
            "this capture has no token IDs, so /v1/completions cannot replay it; choose one recorded with "
            "return_token_ids"
        )
    header = replace(capture.header, endpoint=Endpoint.COMPLETIONS)
    return Capture(header=header, events=events, end=capture.end)


def _requested_parts(
    events: Sequence[Event], capture: Capture, endpoint: Endpoint, request: Mapping[str, Any]
) -> list[Event]:
    """The events without token IDs and usage that the request did not ask for."""
    if not spec_of(endpoint).carries_ids:
        return list(events)
    options = request.get("stream_options")
    usage = isinstance(options, dict) and bool(options.get("include_usage"))
    header = capture.header
    engine = engine_of(owned_by=header.owned_by, version=header.server_version)
    kept_logprobs = engine.keeps_logprobs(header.server_version)
    requested: list[Event] = []
    for event in events:
        if event.kind is EventKind.SSE and not usage and _is_usage(event):
            continue
        text: str | None = event.data
        if not request.get(spec_of(endpoint).evidence_key):
            text = without_token_ids(event.data, keeps_logprobs=kept_logprobs)
        if text is not None:
            requested.append(event if text is event.data else event._replace(data=text))
    return requested


def _is_usage(event: Event) -> bool:
    if '"usage"' not in event.data:
        return False
    chunk = payload(event)
    return chunk is not None and chunk.get("choices") == []


def _unstreamed(reading: Reading) -> tuple[int, dict[str, Any]]:
    """Status and body of the unstreamed response with the content of a stream."""
    stream = reading.stream
    if stream.errors:
        first = stream.errors[0]
        code = first.code if isinstance(first.code, int) and 400 <= first.code <= 599 else 500
        kind = first.type or "InternalServerError"
        return code, error_body(first.message, code, kind, reading.spec.endpoint)
    if reading.spec.final_object:
        final = payload(reading.events[stream.final_event]) if stream.final_event is not None else None
        if final is None or not isinstance(final.get("response"), dict):
            raise InspectorError("this capture ends before its final object; request it with stream")
        return 200, final["response"]
    if reading.spec.body_members:
        return _message(reading)
    chat, keys = reading.spec.parsed, reading.engine.reasoning_keys
    first_chunk = next((chunk for event in reading.events if (chunk := payload(event))), {})
    return 200, {
        "id": first_chunk.get("id", "playback"),
        "object": reading.spec.objects[-1],
        "created": first_chunk.get("created", 0),
        "model": stream.model or reading.header.model or "playback",
        "choices": [_chat(choice, keys) if chat else _text(choice) for choice in reading.choices],
        "usage": stream.usage,
        **({"prompt_token_ids": stream.prompt_ids} if chat else {}),
    }


def _message(reading: Reading) -> tuple[int, dict[str, Any]]:
    """The whole message of a Messages stream, or the error that vLLM has where arguments are not JSON."""
    delivered, content = reading.choice.delivered(), list[dict[str, Any]]()
    if delivered.reasoning:
        content.append({"type": "thinking", "thinking": delivered.reasoning, "signature": "playback"})
    if delivered.content or not (content or delivered.tool_calls):
        content.append({"type": "text", "text": delivered.content})
    for number, call in enumerate(delivered.tool_calls):
        try:
            arguments = json.loads(call.arguments or reading.spec.no_arguments)
        except (ValueError, RecursionError) as error:
            return 500, error_body(str(error), 500, "api_error", reading.spec.endpoint)
        block = {"type": "tool_use", "id": f"chatcmpl-tool-playback-{number}", "name": call.name}
        content.append({**block, "input": arguments})
    payloads = [value for event in reading.events if (value := payload(event)) is not None]
    first_type = reading.spec.first_type
    starts = (envelope_of(value) for value in payloads if value.get("type") == first_type)
    started = next(starts, dict[str, Any]())
    deltas = [delta for value in payloads if isinstance(delta := value.get("delta"), dict)]
    reasons = (delta.get("stop_reason") for delta in deltas)
    return 200, {
        "id": "msg_playback",
        **reading.spec.body_members,
        "model": "playback",
        "stop_sequence": None,
        **started,
        "content": content,
        "stop_reason": next(filter(None, reasons), None),
        "usage": reading.stream.usage,
    }


def _chat(choice: ChoiceReading, reasoning_keys: Sequence[str]) -> dict[str, Any]:
    delivered = choice.delivered()
    calls = [
        {
            "id": f"chatcmpl-tool-playback-{number}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for number, call in enumerate(delivered.tool_calls)
    ]
    reasoning = delivered.reasoning or None
    return {
        "index": choice.index,
        "message": {
            "role": "assistant",
            "content": delivered.content or None,
            "tool_calls": calls,
            **dict.fromkeys(reasoning_keys, reasoning),
        },
        "logprobs": None,
        "finish_reason": choice.finish_reason,
        "token_ids": list(choice.tokens.ids) or None,
    }


def _text(choice: ChoiceReading) -> dict[str, Any]:
    return {
        "index": choice.index,
        "text": choice.delivered().text or "",
        "logprobs": None,
        "finish_reason": choice.finish_reason,
        "token_ids": list(choice.tokens.ids) or None,
    }
