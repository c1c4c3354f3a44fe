"""A hosted service is asked for its own evidence, by its address; none was asked live."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from inspector.capture.capture import Capture, End, Event, Header
from inspector.inspection.inspection import inspect
from inspector.net.client.address import Server
from inspector.net.client.exchange import ask
from inspector.net.client.request import LiveRequest
from inspector.protocol.engines.hosted import GROQ
from inspector.protocol.harmony.vocab import encode

CALL = encode("<|channel|>commentary to=functions.add <|constrain|>json<|message|>{<|call|>")
FAILED = {"message": "No JSON", "code": "tool_use_failed", "failed_generation": "{"}


class LastCapture:
    """Keeps the last recording."""

    capture: Capture

    def opened(self, header: Header) -> str:
        self.capture = Capture(header=header, events=[])
        return ""

    def event(self, _: str, event: Event, /) -> None:
        self.capture = replace(self.capture, events=[*self.capture.events, event])

    def ended(self, _: str, end: End, /) -> None:
        self.capture = replace(self.capture, end=end)


def answered(*errors: dict[str, Any]) -> tuple[list[dict[str, Any]], Capture]:
    """The bodies that a service got, and the recording; each error is the answer to one request."""
    bodies: list[dict[str, Any]] = []
    memory = LastCapture()

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(400, json={"error": errors[len(bodies) - 1]})

    request = LiveRequest(model="openai/gpt-oss-20b", prompt="Add 1")
    server = Server(base_url="https://api.groq.com/openai/v1")
    asyncio.run(ask(server, request, memory, inner=httpx.MockTransport(answer)))
    return bodies, memory.capture


def test_a_service_is_asked_by_its_address_and_its_errors_bring_token_ids() -> None:
    bodies, capture = answered({**FAILED, "debug": {"output_token_ids": CALL}})
    assert [body["debug"] for body in bodies] == [True], (
        "an error that has what was asked for rejects nothing"
    )
    assert inspect(capture).reading.engine is GROQ
    assert inspect(capture).reading.choice.tokens.ids == CALL


@pytest.mark.parametrize("message", ["property 'debug' is unsupported", "unknown parameter"])
def test_a_service_that_rejects_the_key_is_asked_again_without(message: str) -> None:
    bodies, capture = answered({"message": message}, FAILED)
    assert ["debug" in body for body in bodies] == [True, False]
    assert not inspect(capture).reading.choice.tokens
