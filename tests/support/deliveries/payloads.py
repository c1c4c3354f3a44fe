"""Steps as the events and bodies of chat, completions and Responses."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Final

from inspector.capture.capture import Endpoint
from inspector.protocol.harmony.vocab import token_bytes
from tests.support.deliveries.answers import Bit, EventPart, ServedChoice, all_bits
from tests.support.deliveries.scripts import CONTENT, REASONING
from tests.support.deliveries.truth import SentEvidence

__all__ = [
    "body_payload",
    "chunks",
    "item_of",
    "item_texts",
    "response_events",
    "response_object",
    "usage_of",
]

_ID: Final = {"chat": "chatcmpl-1", "completions": "cmpl-1"}


def _chat_delta(bits: Sequence[Bit], opened: set[int]) -> dict[str, Any]:
    delta: dict[str, Any] = {}
    calls: list[dict[str, Any]] = []
    for bit in bits:
        if not bit.field.startswith("tool_calls"):
            delta[bit.field] = delta.get(bit.field, "") + bit.text
            continue
        number = int(bit.field.partition("[")[2].partition("]")[0])
        key = "name" if bit.field.endswith(".name") else "arguments"
        if not calls or calls[-1]["index"] != number or key == "name":
            call: dict[str, Any] = {"index": number, "function": {"arguments": ""}}
            if number not in opened:
                call = {"id": f"call_{number}", "type": "function", **call}
                opened.add(number)
            calls.append(call)
        function = calls[-1]["function"]
        function[key] = function.get(key, "") + bit.text
    if calls:
        delta["tool_calls"] = calls
    return delta


def _entry(token_id: int) -> dict[str, Any]:
    raw = token_bytes(token_id)
    text = raw.decode("utf-8", "replace")
    return {"token": text, "logprob": -0.5, "bytes": list(raw), "top_logprobs": []}


def _logprobs(endpoint: Endpoint, ids: Sequence[int], *, numbered: bool) -> dict[str, Any] | None:
    if not ids:
        return None
    if endpoint is Endpoint.CHAT:
        entries = [_entry(token_id) for token_id in ids]
        if numbered:
            entries = [
                {**entry, "token": f"token_id:{token_id}"}
                for entry, token_id in zip(entries, ids, strict=True)
            ]
        return {"content": entries}
    names = [
        f"token_id:{token_id}" if numbered else token_bytes(token_id).decode("utf-8", "replace")
        for token_id in ids
    ]
    return {"tokens": names, "token_logprobs": [-0.5] * len(ids), "top_logprobs": None, "text_offset": []}


def _choice_payload(
    endpoint: Endpoint, index: int, step: EventPart, opened: set[int], *, ids: str, numbered: bool
) -> dict[str, Any]:
    choice: dict[str, Any] = {"index": index}
    if endpoint is Endpoint.COMPLETIONS:
        choice["text"] = "".join(bit.text for bit in step.bits)
    else:
        choice["delta"] = _chat_delta(step.bits, opened)
    choice["logprobs"] = _logprobs(endpoint, step.ids, numbered=numbered) if ids == "logprobs" else None
    choice["finish_reason"] = None
    if ids in {"all", "some"} and step.shows_ids and step.ids:
        choice["token_ids"] = list(step.ids)
    return choice


def usage_of(count: int, endpoint: Endpoint) -> dict[str, Any]:
    if endpoint is Endpoint.RESPONSES:
        return {
            "input_tokens": 50,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": count,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 50 + count,
        }
    return {"prompt_tokens": 50, "completion_tokens": count, "total_tokens": 50 + count}


def _error_payload(words: str) -> dict[str, Any]:
    return {"error": {"message": words, "type": "BadRequestError", "param": None, "code": 400}}


def chunks(
    endpoint: Endpoint, answers: Sequence[ServedChoice], evidence: SentEvidence, random: Random, *, usage: int
) -> list[dict[str, Any] | str]:
    """Payloads of a stream of chat or completions."""
    numbered = random.random() < 0.3
    own_finish = random.random() < 0.3
    rows: list[list[dict[str, Any]]] = []
    for index, answer in enumerate(answers):
        opened: set[int] = set()
        row = [
            _choice_payload(endpoint, index, step, opened, ids=evidence.ids, numbered=numbered)
            for step in answer.steps
        ]
        if not answer.error:
            if own_finish or not row:
                empty = EventPart(0, ())
                row.append(_choice_payload(endpoint, index, empty, opened, ids="none", numbered=False))
            if evidence.finish:
                row[-1]["finish_reason"] = answer.finish
                if answer.stopped_by:
                    row[-1]["stop_reason"] = answer.stopped_by
        rows.append(row)
    payloads: list[dict[str, Any] | str] = []
    name = "chat.completion.chunk" if endpoint is Endpoint.CHAT else "text_completion"
    base = {"id": _ID[endpoint.value], "object": name, "created": 1795335471, "model": "openai/gpt-oss-20b"}
    if endpoint is Endpoint.CHAT and random.random() < 0.7:
        for index in range(len(answers)):
            delta = {"role": "assistant", "content": ""}
            payloads.append({**base, "choices": [{"index": index, "delta": delta, "finish_reason": None}]})
    while any(rows):
        row = random.choice([row for row in rows if row])
        payloads.append({**base, "choices": [row.pop(0)]})
    error = next((answer.error for answer in answers if answer.error), "")
    if error:
        payloads.append(_error_payload(error))
    elif evidence.usage:
        payloads.append({**base, "choices": [], "usage": usage_of(usage, endpoint)})
    if evidence.done_sent:
        payloads.append("[DONE]")
    return payloads


def _chat_message(answer: ServedChoice, random: Random) -> dict[str, Any]:
    """The message of an unstreamed chat completion; texts of one field are joined by line feeds or not."""
    gap = random.choice(["", "\n"])
    bits = all_bits(answer.steps)
    message: dict[str, Any] = {"role": "assistant", "content": None, "reasoning": None, "tool_calls": []}
    before: dict[str, int] = {}
    calls: dict[int, dict[str, str]] = {}
    for bit in bits:
        if bit.field.startswith("tool_calls"):
            number = int(bit.field.partition("[")[2].partition("]")[0])
            key = "name" if bit.field.endswith(".name") else "arguments"
            call = calls.setdefault(number, {"name": "", "arguments": ""})
            call[key] += bit.text
            continue
        joint = gap if bit.field in before and before[bit.field] < bit.message else ""
        before[bit.field] = max(bit.message, before.get(bit.field, 0))
        message[bit.field] = (message[bit.field] or "") + joint + bit.text
    message["tool_calls"] = [
        {"id": f"call_{number}", "type": "function", "function": call}
        for number, call in sorted(calls.items())
    ]
    return message


def body_payload(
    endpoint: Endpoint, answers: Sequence[ServedChoice], evidence: SentEvidence, random: Random, *, usage: int
) -> dict[str, Any]:
    choices: list[dict[str, Any]] = []
    numbered = random.random() < 0.3
    for index, answer in enumerate(answers):
        choice: dict[str, Any] = {"index": index, "logprobs": None}
        ids = [token_id for step in answer.steps for token_id in step.ids]
        if endpoint is Endpoint.CHAT:
            choice["message"] = _chat_message(answer, random)
        else:
            choice["text"] = "".join(bit.text for bit in all_bits(answer.steps))
        choice["finish_reason"] = answer.finish if evidence.finish else None
        if answer.stopped_by:
            choice["stop_reason"] = answer.stopped_by
        if evidence.ids in {"all", "some"}:
            choice["token_ids"] = ids
        elif evidence.ids == "logprobs":
            choice["logprobs"] = _logprobs(endpoint, ids, numbered=numbered)
        choices.append(choice)
    name = "chat.completion" if endpoint is Endpoint.CHAT else "text_completion"
    body = {"id": _ID[endpoint.value], "object": name, "created": 1795335471, "model": "openai/gpt-oss-20b"}
    body |= {"choices": choices}
    return body | ({"usage": usage_of(usage, endpoint)} if evidence.usage else {})


def _kind(name: str) -> str:
    return "reasoning" if name == REASONING else "message" if name == CONTENT else "function_call"


def item_of(number: int, kind: str, name: str, text: str, *, status: str) -> dict[str, Any]:
    content: list[Any] | None
    match kind:
        case "reasoning":
            content = [{"type": "reasoning_text", "text": text}] if status == "completed" else None
            return {"id": f"rs_{number}", "type": kind, "summary": [], "content": content, "status": status}
        case "message":
            full_content: list[Any] = [
                {"type": "output_text", "text": text, "annotations": [], "logprobs": None}
            ]
            content = full_content if status == "completed" else []
            own = {"role": "assistant", "content": content, "status": status}
            return {"id": f"msg_{number}", "type": kind, **own}
        case _:
            call = {"call_id": f"call_{number}", "name": name, "arguments": text, "status": status}
            return {"id": f"fc_{number}", "type": kind, **call}


def item_texts(bits: Iterable[Bit]) -> dict[int, tuple[str, str, str]]:
    """By message: the kind of its item, the name of its call, its text."""
    items: dict[int, tuple[str, str, str]] = {}
    for bit in bits:
        kind, name, text = items.get(bit.message, (_kind(bit.field), "", ""))
        if bit.field.endswith(".name"):
            name += bit.text
        else:
            text += bit.text
        items[bit.message] = kind, name, text
    return items


_DELTA: Final = {
    "reasoning": ("response.reasoning_text", "text"),
    "message": ("response.output_text", "text"),
    "function_call": ("response.function_call_arguments", "arguments"),
}


def response_object(
    output: Sequence[Mapping[str, Any]], status: str, usage: Mapping[str, Any] | None
) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1795215075,
        "model": "openai/gpt-oss-20b",
        "status": status,
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
    }


def response_events(
    answer: ServedChoice, evidence: SentEvidence, right: Sequence[Bit], *, in_final: bool, usage: int
) -> list[dict[str, Any]]:
    """Payloads of a Responses stream; `right` is what was to be delivered."""
    steps = answer.steps
    final_texts = item_texts(all_bits(steps) if in_final else right)
    streamed = item_texts(all_bits(steps))
    numbers: dict[int, int] = {}
    closed: set[int] = set()
    events: list[dict[str, Any]] = []
    begun = response_object([], "in_progress", None)
    events.append({"type": "response.created", "response": begun})
    events.append({"type": "response.in_progress", "response": begun})
    bits = all_bits(steps)

    def close(message: int) -> None:
        if message in closed or message not in numbers:
            return
        closed.add(message)
        kind, name, text = final_texts.get(message, (streamed[message][0], streamed[message][1], ""))
        number = numbers[message]
        item = item_of(number, kind, name, text, status="completed")
        prefix, key = _DELTA[kind]
        done_event = {"type": f"{prefix}.done", "item_id": item["id"], "output_index": number, key: text}
        events.append(done_event if kind == "function_call" else {**done_event, "content_index": 0})
        events.append({"type": "response.output_item.done", "output_index": number, "item": item})

    merged: list[Bit] = []
    for step in steps:
        for bit in step.bits:
            last = merged[-1] if merged else None
            if (
                last is not None
                and last.field == bit.field
                and last.message == bit.message
                and bit is not step.bits[0]
            ):
                last.text += bit.text
            else:
                merged.append(replace(bit))
    del bits
    for place, bit in enumerate(merged):
        if bit.message not in numbers:
            later = {bit.message for bit in merged[place:]}
            for message in list(numbers):
                if message not in later:
                    close(message)
            numbers[bit.message] = len(numbers)
            kind, name, _ = streamed[bit.message]
            item = item_of(numbers[bit.message], kind, name, "", status="in_progress")
            number = numbers[bit.message]
            events.append({"type": "response.output_item.added", "output_index": number, "item": item})
            if kind != "function_call":
                part = {"type": f"{'reasoning' if kind == 'reasoning' else 'output'}_text", "text": ""}
                events.append(
                    {
                        "type": "response.content_part.added",
                        "item_id": item["id"],
                        "output_index": number,
                        "content_index": 0,
                        "part": part,
                    }
                )
        if bit.field.endswith(".name"):
            continue
        kind = streamed[bit.message][0]
        number = numbers[bit.message]
        prefix = _DELTA[kind][0]
        item_id = item_of(number, kind, "", "", status="in_progress")["id"]
        delta = {"type": f"{prefix}.delta", "item_id": item_id, "output_index": number, "delta": bit.text}
        events.append(delta if kind == "function_call" else {**delta, "content_index": 0})
    for message in list(numbers):
        close(message)
    if answer.error:
        events.append({"type": "error", "code": "400", "message": answer.error, "param": None})
    elif evidence.final:
        output = [
            item_of(numbers.get(message, 900 + message), kind, name, text, status="completed")
            for message, (kind, name, text) in sorted(final_texts.items())
        ]
        status = "incomplete" if answer.finish == "length" else "completed"
        count = usage_of(usage, Endpoint.RESPONSES) if evidence.usage else None
        events.append({"type": f"response.{status}", "response": response_object(output, status, count)})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]
