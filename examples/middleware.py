"""A Starlette app that passes chat completions on to vLLM, with the middleware that records them.

pip install harmony-inspector
VLLM=http://localhost:8000 uvicorn middleware:app --port 8080
python -m inspector audit captures/*.jsonl
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from inspector.net.adapters.asgi import RecordResponses

VLLM = os.environ.get("VLLM", "http://localhost:8000")
CAPTURES = os.environ.get("CAPTURES", "captures")
client = httpx.AsyncClient(base_url=VLLM, timeout=None)  # noqa: S113 -- a stream may be silent for long


async def chat(request: Request) -> StreamingResponse:
    """Ask the server for token IDs, and pass on what it sends."""
    body = await request.json()
    body["return_token_ids"] = True  # without them lost text cannot be detected
    answer = await client.send(client.build_request("POST", "/v1/chat/completions", json=body), stream=True)

    async def pieces() -> AsyncIterator[bytes]:
        async for piece in answer.aiter_bytes():
            yield piece
        await answer.aclose()

    return StreamingResponse(pieces(), answer.status_code, media_type=answer.headers.get("content-type"))


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[None]:
    """Close the connections to the server at the end."""
    yield
    await client.aclose()


app = Starlette(
    lifespan=lifespan,
    routes=[Route("/v1/chat/completions", chat, methods=["POST"])],
    middleware=[Middleware(RecordResponses, captures=CAPTURES)],
)
