"""Which capture answers, and what cannot be asked."""

import httpx
import openai
import pytest
from starlette.applications import Starlette

from inspector.net.playback import playback_routes
from tests.support.builtin import TOOL
from tests.support.listening import listening
from tests.support.playback import recorded


def test_an_unknown_model_is_refused_as_vllm_does(address: str) -> None:
    with recorded(address) as (client, sink):
        with pytest.raises(openai.NotFoundError, match=r"The model `gpt-9` does not exist\."):
            client.chat.completions.create(model="gpt-9", messages=[], stream=True)
        assert sink.capture().header.status == 404


def test_without_a_name_captures_take_turns(address: str) -> None:
    answers = [
        httpx.post(f"{address}/v1/responses", json={"model": "playback", "stream": True}).headers
        for _ in range(4)
    ]
    assert len({answer["x-playback-capture"] for answer in answers}) == 4


def test_header_and_query_name_the_capture_whatever_the_model(address: str) -> None:
    url = f"{address}/v1/chat/completions"
    by_header = httpx.post(url, json={"model": "any"}, headers={"X-Playback-Capture": TOOL})
    by_query = httpx.post(f"{url}?capture={TOOL}", json={"model": "any"})
    assert by_header.headers["x-playback-capture"] == by_query.headers["x-playback-capture"] == TOOL


def test_an_empty_shelf_says_so() -> None:
    with listening(Starlette(routes=playback_routes(dict, prefix=""))) as at:
        answer = httpx.post(f"{at}/v1/chat/completions", json={"model": "playback"})
        assert answer.status_code == 400
        assert "no capture can be served on chat" in answer.json()["error"]["message"]
