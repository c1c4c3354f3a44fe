"""What a server is, is asked in the background: a server that does not say it holds one request at most."""

import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from tests.support.listening import listening
from tests.support.upstreams import Echo, ask, tapped


class Silent(Echo):
    """A server that does not respond to the question for its models."""

    def __init__(self) -> None:
        super().__init__()
        self.questions = 0
        self.questioned = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("path", "").endswith("/models"):
            self.questions += 1
            self.questioned.set()
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        await super().__call__(scope, receive, send)


def asked(echo: Echo) -> list[dict[str, Any]]:
    return [json.loads(body) for body in echo.bodies]


def test_one_request_waits_for_a_server_that_does_not_say_what_it_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Silent()
    with (
        caplog.at_level(logging.WARNING),
        listening(server) as up,
        tapped(up, add_token_ids=True) as (address, _),
        ThreadPoolExecutor() as clients,
    ):
        first = clients.submit(ask, address, {"n": 1})
        assert server.questioned.wait(120)
        ask(address, {"n": 2})
        assert asked(server) == [{"n": 2}], "it neither waits nor gets keys that the server may reject"
        first.result(120)
        ask(address, {"n": 3})
    assert asked(server)[1:] == [{"n": number, "return_token_ids": True} for number in (1, 3)]
    assert server.questions == 1
    [record] = [record for record in caplog.records if record.name.startswith("inspector")]
    assert "does not respond to /v1/models; no other one waits" in record.getMessage()


@pytest.mark.parametrize("status", [404, 500])
def test_a_server_that_lists_no_models_is_asked_once(status: int) -> None:
    echo, questions = Echo(), list[str]()

    async def without(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith(("/models", "/version")):
            questions.append(scope["path"])
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await echo(scope, receive, send)

    with listening(without) as up, tapped(up, add_token_ids=True) as (address, _):
        for number in range(3):
            ask(address, {"n": number})
    assert questions == ["/v1/models", "/version"]
    assert all(body["return_token_ids"] for body in asked(echo))
