"""The tap before a real vLLM: the official client runs unchanged, and nobody sees that ids were asked for.

Deselected unless asked for with `-m vllm` (docs/lab.md).
"""

import asyncio
import re
from typing import Any

import httpx
import openai
import pytest

from harmony_lab.install import NEWEST
from harmony_lab.process import ServerProcess
from inspector.analysis.reading import read
from inspector.capture.capture import Endpoint
from inspector.inspection.inspection import inspect
from inspector.matrix import requests as bodies
from inspector.matrix.scripts import named
from inspector.protocol.wire.endpoints import spec_of
from tests.support.upstreams import tapped

pytestmark = pytest.mark.vllm

SCRIPTS = ["plain", "preamble_final", "emoji", "tool_call", "cut_in_answer", "return_after_end"]
ATTEMPTS = 8
PER_REQUEST = re.compile(rb'"(id|created|system_fingerprint)":("[^"]*"|\d+)')


def request(script: str, endpoint: Endpoint = Endpoint.CHAT, **changed: Any) -> dict[str, Any]:
    body = bodies.request_body(endpoint, named([script])[0])
    body.pop("return_token_ids", None)
    return {**body, **changed}


def answer(address: str, path: str, body: dict[str, Any]) -> bytes:
    """The bytes of an answer, without what differs from request to request."""
    response = httpx.post(f"{address}{path}", json=body, timeout=120)
    assert response.status_code == 200
    return PER_REQUEST.sub(rb'"\1":0', response.content)


def same_bytes(tap: str, server: str, path: str, body: dict[str, Any]) -> bool:
    """Whether the tap gives the bytes that the server gives.

    The server hands over what its engine has when it looks, so two answers to one request may be cut into
    events differently. An answer is therefore held against others until one was cut alike; a byte that the
    tap changes would stand in each of them.
    """
    direct, tapped_answers = set(), set()
    for _ in range(ATTEMPTS):
        direct.add(answer(server, path, body))
        tapped_answers.add(answer(tap, path, body))
        if direct & tapped_answers:
            return True
    return False


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("endpoint", [Endpoint.CHAT, Endpoint.COMPLETIONS])
@pytest.mark.parametrize("streamed", [True, False])
def test_asking_for_ids_changes_no_byte_of_what_the_client_gets(
    vllm_server: ServerProcess, script: str, endpoint: Endpoint, streamed: bool
) -> None:
    body = request(script, endpoint, stream=streamed)
    if not streamed:
        body.pop("stream_options")
    path = spec_of(endpoint).full_path
    with tapped(vllm_server.base_url, add_token_ids=True) as (address, recorded):
        assert same_bytes(address, vllm_server.base_url, path, body)
        capture = recorded.capture()
    assert list(read(capture).choice.tokens.ids)
    assert capture.header.request == body


@pytest.mark.parametrize("logprobs", [True, False])
def test_logprobs_change_nothing_of_it(vllm_server: ServerProcess, logprobs: bool) -> None:
    body = request("tool_call", logprobs=logprobs)
    path = spec_of(Endpoint.CHAT).full_path
    with tapped(vllm_server.base_url, add_token_ids=True) as (address, recorded):
        assert same_bytes(address, vllm_server.base_url, path, body)
        assert recorded.capture().header.request == body


def test_the_official_clients_run_unchanged_and_their_streams_are_clean(vllm_server: ServerProcess) -> None:
    body = request("plain")
    responses = request("plain", Endpoint.RESPONSES)
    own = {"enable_response_messages": responses.pop("enable_response_messages")}

    async def later(address: str) -> str:
        async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="k") as client:
            stream = await client.chat.completions.create(**body)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

    with tapped(vllm_server.base_url, add_token_ids=True) as (address, recorded):
        with openai.OpenAI(base_url=f"{address}/v1", api_key="k") as client:
            stream = client.chat.completions.create(**body)
            text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
            events = list(client.responses.create(**responses, extra_body=own))
        assert asyncio.run(later(address)) == text
        captures = [recorded.capture(number) for number in range(3)]
    assert text
    assert events[-1].type == "response.completed"
    assert [inspect(capture).findings for capture in captures[::2]] == [[], []]
    assert captures[2].header.server_version is not None
    assert NEWEST in captures[2].header.server_version
