"""The built-in server through a real uvicorn, the real openai client, our recorder and our audit."""

import asyncio
import json
from typing import Any

import httpx
import openai
import pytest
from starlette.applications import Starlette

from inspector.capture.capture import Endpoint
from inspector.inspection.inspection import inspect
from inspector.net.playback import PlaybackSettings, playback_routes
from tests.support.builtin import CAPTURES, COMPLETE_CHAT, RESPONSES, TEXT
from tests.support.listening import listening
from tests.support.playback import chat

JSON = {"content-type": "application/json"}


def test_a_chat_capture_arrives_as_it_was_recorded(address: str) -> None:
    capture, findings, raised = chat(address)
    assert raised is None
    assert [event.data for event in capture.events] == [
        event.data for event in CAPTURES[COMPLETE_CHAT].events
    ]
    assert findings == []


@pytest.mark.parametrize(
    "name", [name for name, capture in CAPTURES.items() if capture.header.endpoint is Endpoint.CHAT]
)
def test_each_chat_capture_gives_the_findings_that_it_has(address: str, name: str) -> None:
    _, findings, _ = chat(address, model=name)
    assert [(finding.kind, finding.generated, finding.delivered) for finding in findings] == [
        (finding.kind, finding.generated, finding.delivered) for finding in inspect(CAPTURES[name]).findings
    ]


def test_the_async_client_runs_unchanged(address: str) -> None:
    async def ask() -> str:
        async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="k") as client:
            stream = await client.chat.completions.create(model=COMPLETE_CHAT, messages=[], stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert asyncio.run(ask()) == TEXT


def test_models_health_version_and_what_is_not_there(address: str) -> None:
    with openai.OpenAI(base_url=f"{address}/v1", api_key="k") as client:
        models = [model.id for model in client.models.list()]
    assert {*CAPTURES, "playback"} <= set(models)
    assert httpx.get(f"{address}/health").status_code == 200
    assert httpx.get(f"{address}/version").json() == {"version": "playback"}
    assert httpx.get(f"{address}/version?capture={COMPLETE_CHAT}").json() == {"version": "0.13.0"}
    assert httpx.get(f"{address}/v1/nothing").status_code == 404


@pytest.mark.parametrize(
    ("query", "body", "words"),
    [
        ("capture=nothing", {}, "no capture 'nothing'"),
        (f"capture={RESPONSES}", {}, "cannot be served on chat"),
        ("speed=0", {}, "invalid speed '0'"),
        ("speed=fast", {}, "expected a positive number, or inf"),
        ("faults=explode", {}, "unknown fault 'explode'; available: merge"),
        ("faults=merge%3D1", {}, "invalid value '1' for fault merge: expected a number from 2 to 10,000"),
        ("faults=stall%3D1:nan", {}, "invalid value '1:nan' for fault stall"),
        ("faults=no-done%3D1", {}, "it has no value"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_sentence(
    address: str, query: str, body: dict[str, Any], words: str
) -> None:
    answer = httpx.post(f"{address}/v1/chat/completions?{query}", json=body)
    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", ["chat/completions", "responses", "completions"])
def test_half_a_character_in_a_model_s_name_is_quoted_and_fails_nothing(address: str, path: str) -> None:
    body = b'{"model": "a\\ud800b", "messages": [], "input": "x", "prompt": "x", "stream": true}'
    answer = httpx.post(f"{address}/v1/{path}", content=body, headers=JSON)
    assert answer.status_code == 404
    assert "a\ud800b" in answer.json()["error"]["message"]


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"[" * 100_000, b"\xff"])
def test_a_request_that_is_no_json_object_is_refused(address: str, raw: bytes) -> None:
    answer = httpx.post(f"{address}/v1/chat/completions", content=raw, headers=JSON)
    assert answer.status_code == 400
    assert "the request body is not" in answer.json()["error"]["message"]


def test_the_control_sets_what_all_later_requests_get() -> None:
    routes = playback_routes(lambda: CAPTURES, prefix="", settings=PlaybackSettings(speed=float("inf")))
    with listening(Starlette(routes=routes)) as at:
        url = f"{at}/v1/chat/completions"
        assert (
            httpx.put(f"{at}/control", json={"faults": "http=503", "capture": COMPLETE_CHAT}).status_code
            == 200
        )
        assert httpx.get(f"{at}/control").json()["faults"] == {"http": 503}
        assert httpx.post(url, json={}).status_code == 503
        assert httpx.post(f"{url}?faults=none", json={}).status_code == 200
        assert httpx.delete(f"{at}/control").json() == {
            "capture": None,
            "speed": "inf",
            "tokens_per_s": None,
            "faults": {},
        }
        assert httpx.post(url, json={}).status_code == 200


def test_the_control_refuses_a_setting_that_it_does_not_know_and_takes_null_for_the_default() -> None:
    routes = playback_routes(
        lambda: CAPTURES, prefix="", settings=PlaybackSettings(speed=4.0, tokens_per_s=9.0)
    )
    with listening(Starlette(routes=routes)) as at:
        for wrong, words in (
            ({"sped": 2}, "unknown setting 'sped'; available: capture, speed"),
            ({"faults": {"merge": 3}}, "faults must be a string"),
            ({"capture": "\ud800"}, "invalid capture name '\\ud800'"),
            ({"capture": "\x1b[2J"}, "it has characters that no name has"),
            ({"\ud800": 1}, "unknown setting '\\ud800'"),
            ({"faults": "\ud800"}, "unknown fault"),
            ({"speed": "\ud800"}, "invalid speed"),
        ):
            refused = httpx.put(f"{at}/control", content=json.dumps(wrong), headers=JSON)
            assert refused.status_code == 400
            assert words in refused.json()["error"]["message"]
        settings: dict[str, Any] = {"capture": None, "speed": 4.0, "tokens_per_s": 9.0, "faults": {}}
        assert httpx.get(f"{at}/control").json() == settings
        defaults: dict[str, Any] = {"capture": None, "speed": None, "tokens_per_s": None, "faults": None}
        assert httpx.put(f"{at}/control", json=defaults).json() == {
            **defaults,
            "speed": 1.0,
            "faults": {},
        }


def test_nothing_that_a_web_page_of_another_site_can_send_is_taken() -> None:
    routes = playback_routes(lambda: CAPTURES, prefix="")
    with listening(Starlette(routes=routes)) as at:
        for media, origin in (("text/plain", None), ("", None), ("application/json", "http://evil.example")):
            headers = {"content-type": media} | ({"origin": origin} if origin else {})
            for method, path in (("PUT", "control"), ("POST", "v1/chat/completions")):
                refused = httpx.request(method, f"{at}/{path}", content=b'{"faults":"http"}', headers=headers)
                assert refused.status_code == 400
                assert "may not" in refused.text or "application/json" in refused.text
        assert httpx.get(f"{at}/control").json()["faults"] == {}
