"""The real openai client before the built-in server, and what is kept of its answers."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import httpx
import openai

from inspector.analysis.audit import Finding, Kind
from inspector.analysis.reading import read
from inspector.capture.capture import Capture
from inspector.inspection.inspection import inspect
from inspector.net.client.recorder import Recorder
from inspector.net.client.transport import RecordingTransport, endpoint_of, header_of
from tests.support.builtin import COMPLETE_CHAT
from tests.support.listening import MemorySink

__all__ = ["chat", "generated_ids", "kinds", "recorded"]


@contextmanager
def recorded(address: str, faults: str = "", **headers: str) -> Iterator[tuple[openai.OpenAI, MemorySink]]:
    """The real client, unchanged but for its transport, and what is kept of its answers."""
    sink = MemorySink()

    def record(request: httpx.Request) -> Recorder | None:
        endpoint = endpoint_of(request.method, request.url.path)
        if endpoint is None:
            return None
        return Recorder(header_of(endpoint, request.content, source="test"), sink)

    if faults:
        headers["X-Playback-Faults"] = faults
    transport = RecordingTransport(record, httpx.HTTPTransport())
    with (
        httpx.Client(transport=transport, timeout=20) as http,
        openai.OpenAI(
            base_url=f"{address}/v1",
            api_key="k",
            http_client=cast(Any, http),
            max_retries=0,
            default_headers=headers,
        ) as client,
    ):
        yield client, sink


def chat(
    address: str, faults: str = "", *, model: str = COMPLETE_CHAT
) -> tuple[Capture, list[Finding], Exception | None]:
    """A streamed chat with ids through the client: what was recorded, found, and what the client raised."""
    raised: Exception | None = None
    with recorded(address, faults) as (client, sink):
        try:
            for _ in client.chat.completions.create(
                model=model,
                messages=[],
                stream=True,
                stream_options={"include_usage": True},
                extra_body={"return_token_ids": True},
            ):
                pass
        except (openai.OpenAIError, httpx.HTTPError, json.JSONDecodeError) as error:
            raised = error
        capture = sink.capture()
    return capture, inspect(capture).findings, raised


def kinds(findings: list[Finding]) -> set[Kind]:
    return {finding.kind for finding in findings}


def generated_ids(capture: Capture) -> list[int]:
    return list(read(capture).choice.tokens.ids)
