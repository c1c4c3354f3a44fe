"""Responses in the forms in which programs print and log them, made from built-in captures."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from openai.types.chat import ChatCompletionChunk

from inspector.protocol.harmony.vocab import encode
from tests.support.foreign import CHAT, RESPONSES, known

CHUNKS: list[dict[str, Any]] = [json.loads(event.data) for event in known(CHAT).events[:-1]]
EVENTS: list[dict[str, Any]] = [json.loads(event.data) for event in known(RESPONSES).events]
REQUEST = dict(known(CHAT).header.request)
STREAM = "".join(f"data: {event.data}\n\n" for event in known(CHAT).events)
BODY: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "gpt-oss",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
    "usage": {"completion_tokens": 12},
}
COMPLETION = (
    "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>"
)
PROMPT = "<|start|>user<|message|>Hello<|end|><|start|>assistant"
IDS = encode(COMPLETION)


def lines(values: Iterable[object]) -> str:
    return "".join(f"{json.dumps(value)}\n" for value in values)


def generated(ids: list[int], counted: int, **members: object) -> Mapping[str, object]:
    """A result of SGLang's /generate."""
    stop = {"type": "stop", "matched": 200002}
    facts = {"id": "r1", "finish_reason": stop, "prompt_tokens": 3, "completion_tokens": counted}
    return {"text": "Hi", "output_ids": ids, "meta_info": facts, **members}


def batch_row(number: int, status: int, body: object) -> dict[str, object]:
    response = {"status_code": status, "request_id": f"r{number}", "body": body}
    return {"id": f"batch_req_{number}", "custom_id": f"row-{number}", "response": response, "error": None}


def objects() -> list[ChatCompletionChunk]:
    return [ChatCompletionChunk.model_validate(chunk) for chunk in CHUNKS]


DELTAS: list[dict[str, Any]] = [
    {"role": "assistant", "content": ""},
    {"reasoning": "Green"},
    {"content": "Moss."},
    {},
]


def ollama(message: dict[str, Any], **members: object) -> dict[str, Any]:
    """A line of Ollama's /api/chat."""
    stamp = "2026-10-01T00:00:00Z"
    return {
        "model": "gpt-oss:20b",
        "created_at": stamp,
        "message": {"role": "assistant", **message},
        "done": False,
        **members,
    }


WEIGHED = {"function": {"name": "weigh", "arguments": {"grams": 7}}}
OLLAMA = [
    ollama({"content": "", "thinking": "Weigh"}),
    ollama({"content": "", "thinking": " it."}),
    ollama({"content": "", "tool_calls": [WEIGHED]}),
    ollama({"content": ""}, done=True, done_reason="stop", prompt_eval_count=80, eval_count=25),
]

FORMS: dict[str, bytes] = {
    name: text.encode()
    for name, text in {
        "deltas": lines(DELTAS),
        "choices": lines({"index": 0, "delta": delta, "finish_reason": None} for delta in DELTAS),
        "ollama": lines(OLLAMA),
        "ollama whole": json.dumps(ollama({"content": "Moss."}, done=True, done_reason="stop", eval_count=9)),
        "printed steps": f"step one -- out.token_ids={IDS[:4]} --\nstep two -- out.token_ids={IDS[4:]} --\n",
        "issue": f"### Bug\n\nThe answer:\n\n```json\n{json.dumps(BODY, indent=2)}\n```\n\nThanks!\n",
        "log of llama": (
            f"srv  update_chat_: Parsing chat message: {COMPLETION[:50]}\n"
            f"srv  update_chat_: Parsing chat message: {COMPLETION.removesuffix('<|return|>')}\n"
            "srv  log_server_r: request: POST /v1/chat/completions 127.0.0.1 200\n"
        ),
        "lines": lines(CHUNKS),
        "array": json.dumps(CHUNKS),
        "events": lines(EVENTS),
        "pair": json.dumps({"request_body": REQUEST, "response_body": {"streamed_data": STREAM}}),
        "batch": lines([batch_row(1, 200, BODY), batch_row(2, 400, {"error": {"message": "no"}})]),
        "generate": json.dumps(generated(IDS, len(IDS))),
        "harmony": f"{COMPLETION}\n",
        "harmony with prompt": f"{PROMPT}{COMPLETION}\n",
        "repr": "\n".join(map(repr, objects())),
        "tensor": f"tensor([{IDS}], device='cuda:0')",
        "request output": (
            f"[RequestOutput(request_id=0, prompt=None, prompt_token_ids={encode(PROMPT)}, outputs=["
            f"CompletionOutput(index=0, text='It\\'s', token_ids={IDS}, cumulative_logprob=None, "
            "logprobs=None, finish_reason=stop, stop_reason=200002)], finished=True, metrics=None)]"
        ),
    }.items()
}
