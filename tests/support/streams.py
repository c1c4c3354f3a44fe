"""Streams written as a table: what the model sampled in each step, and what the server sent for it.

The tables are the tests' own; nothing here asks the code under test what should be delivered.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from inspector.capture.capture import Capture, End, Endpoint, Event, Header
from inspector.matrix.results import all_runs
from inspector.matrix.results import capture_of as matrix_capture
from inspector.protocol.harmony.vocab import encode

__all__ = [
    "CLEAN",
    "CLOSED",
    "LEAK",
    "LOSS",
    "PIECES",
    "Step",
    "aborted",
    "chat",
    "chat_chunk",
    "completion",
    "long_answer",
    "tool_response",
]

Step = tuple[str, Mapping[str, Any]]
"""Harmony text that the model sampled in one step, and the `delta` that the server sent for it."""

CLOSED = End(at_s=None, cut=False)


def chat_chunk(
    ids: Sequence[int] | None, delta: Mapping[str, Any], *, finish: str | None = None, index: int = 0
) -> str:
    """One chat chunk as vLLM writes it."""
    choice: dict[str, Any] = {"index": index, "delta": dict(delta), "finish_reason": finish}
    if ids is not None:
        choice["token_ids"] = list(ids)
    return json.dumps({"object": "chat.completion.chunk", "model": "gpt-oss", "choices": [choice]})


def chat(
    steps: Sequence[Step],
    *,
    finish: str | None = "stop",
    usage: int | None = None,
    counted: bool = False,
    with_ids: bool = True,
    end: End = CLOSED,
    done: bool = True,
    gap_s: float = 0.01,
    version: str | None = "0.99.0",
) -> Capture:
    """A streamed chat completion, one event per step, `gap_s` apart.

    `counted` has the server count exactly the tokens of the steps; `usage` is another count.
    """
    data = []
    for number, (text, delta) in enumerate(steps):
        last = number == len(steps) - 1
        data.append(chat_chunk(encode(text) if with_ids else None, delta, finish=finish if last else None))
    if counted:
        usage = sum(len(encode(text)) for text, _ in steps)
    if usage is not None:
        data.append(json.dumps({"choices": [], "usage": {"completion_tokens": usage}}))
    if done:
        data.append("[DONE]")
    events = [Event(payload, (number + 1) * gap_s) for number, payload in enumerate(data)]
    header = Header(endpoint=Endpoint.CHAT, model="gpt-oss", server_version=version, status=200)
    return Capture(header=header, events=events, end=end)


def aborted(
    steps: Sequence[str], words: str, *, event_per_token: bool = True, version: str | None = "0.13.0"
) -> Capture:
    """A chat stream that ends in an error, as vLLM to 0.31 sends it; nothing is delivered.

    A step is an event, or with `each` every token of it is.
    """
    data = []
    for step in steps:
        ids = encode(step)
        data += [chat_chunk([token_id], {}) for token_id in ids] if event_per_token else [chat_chunk(ids, {})]
    data.append(json.dumps({"error": {"message": words, "type": "BadRequestError", "code": 400}}))
    data.append("[DONE]")
    header = Header(endpoint=Endpoint.CHAT, model="gpt-oss", server_version=version, status=200)
    events = [Event(payload, (number + 1) * 0.01) for number, payload in enumerate(data)]
    return Capture(header=header, events=events, end=CLOSED)


def completion(steps: Sequence[tuple[str, str]], *, request: Mapping[str, Any] | None = None) -> Capture:
    """A streamed plain completion: Harmony text sampled, text sent."""
    data = []
    for number, (text, sent) in enumerate(steps):
        finish = "stop" if number == len(steps) - 1 else None
        choice = {"index": 0, "text": sent, "token_ids": encode(text), "finish_reason": finish}
        data.append(json.dumps({"object": "text_completion", "choices": [choice]}))
    events = [Event(payload, (number + 1) * 0.01) for number, payload in enumerate([*data, "[DONE]"])]
    header = Header(endpoint=Endpoint.COMPLETIONS, status=200, request=request or {})
    return Capture(header=header, events=events, end=CLOSED)


CLEAN: Sequence[Step] = (
    ("<|channel|>analysis<|message|>Need", {"reasoning": "Need"}),
    (" weather.<|end|>", {"reasoning": " weather."}),
    ("<|start|>assistant<|channel|>final<|message|>Sunny", {"content": "Sunny"}),
    ("<|return|>", {}),
)
LEAK: Sequence[Step] = (
    CLEAN[0],
    (" weather.<|end|>", {"content": " weather."}),
    *CLEAN[2:],
)
LOSS: Sequence[Step] = (CLEAN[0], (" weather.<|end|>", {}), *CLEAN[2:])


PIECES = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "<|channel|>",
                "analysis",
                "final",
                "<|message|>",
                "Hi",
                "<|end|>",
                "<|start|>",
                "assistant",
                "\u202e",
            ]
        ),
        st.sampled_from([{}, {"content": "Hi"}, {"reasoning": "Hi"}, {"content": "\u202e"}]),
    ),
    min_size=1,
    max_size=14,
)


def long_answer(*, lost: int | None = None, changed: int | None = None) -> Capture:
    """An answer of many tokens, one an event; one may be lost on the way, one may be another."""
    steps: list[Step] = [("<|channel|>final<|message|>", {})]
    for number in range(400):
        text = " other" if number == changed else " word"
        steps.append((text, {} if number == lost else {"content": text}))
    return chat([*steps, ("<|return|>", {})])


def tool_response(version: str, interval: int, script: str = "tool_call") -> Capture:
    """What a real release answered to a script on Responses, by default reasoning and a call."""
    run = next(
        matrix_run
        for matrix_run in all_runs()
        if (matrix_run.version, matrix_run.stream_interval) == (version, interval)
    )
    capture = matrix_capture(run, Endpoint.RESPONSES, script)
    assert capture is not None
    return capture
