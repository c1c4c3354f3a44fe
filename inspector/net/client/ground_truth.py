"""The Harmony prompt as token IDs: what `/v1/completions` needs to show every sampled token.

Plain completions are never parsed as Harmony, so their stream carries each token whatever the server's
parser does. The prompt must be the one that chat would render. Three sources, best first:

1. `POST /v1/chat/completions/render` (vLLM 0.18 and newer; 0.32 wants `--enable-scale-out`), the server's
   own rendering.
2. A chat request for one token with `return_token_ids` (vLLM 0.10.2 and newer): its response carries
   `prompt_token_ids`, again the server's own rendering.
3. `openai_harmony`: the same format, but the server may put another date or identity into it.

Without a limit, chat generates up to the end of the model's context, but completions stop after 16 tokens
(vLLM 0.10 to 0.32, even for `"max_tokens": null`), so `max_tokens` is set to what fits (`answer_room`).
"""

from dataclasses import dataclass, replace

import httpx

from inspector.analysis.prompt import render, requested_by_chat
from inspector.capture.capture import Endpoint
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest, body
from inspector.protocol.wire.endpoints import spec_of
from inspector.protocol.wire.stream import loads, token_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPrompt:
    """A prompt as token IDs."""

    ids: tuple[int, ...]
    source: str
    """What rendered it, one sentence."""


async def rendered_prompt(server: Server, request: LiveRequest, client: httpx.AsyncClient) -> RenderedPrompt:
    """The token IDs that the server's chat endpoint would continue for `request`.

    Raises InspectorError when the messages cannot be rendered at all.
    """
    chat = body(replace(request, endpoint=Endpoint.CHAT, token_ids=True, logprobs=False, extra={}))
    del chat["stream"], chat["stream_options"]
    path = spec_of(Endpoint.CHAT).path
    for render_path, sent, key, source in (
        (f"{path}/render", chat, "token_ids", "The server rendered the prompt (/render)."),
        (
            path,
            {**chat, "max_tokens": 1},
            "prompt_token_ids",
            "The server rendered the prompt (obtained with a chat request for one token).",
        ),
    ):
        try:
            response = await client.post(f"{server.v1}{render_path}", json=sent)
        except httpx.HTTPError:
            break  # the completions request will fail the same way and report it
        payload = loads(response.text) if response.status_code == 200 else None
        if isinstance(payload, dict) and (ids := token_ids(payload.get(key))):
            return RenderedPrompt(ids=tuple(ids), source=source)
    return RenderedPrompt(
        ids=tuple(render_locally(request)),
        source="The prompt was rendered locally with openai_harmony; "
        "the server may use a different system message.",
    )


async def answer_room(server: Server, request: LiveRequest, client: httpx.AsyncClient) -> int | None:
    """Tokens that fit behind the prompt, by `max_model_len` of the model list; None if unknown."""
    try:
        response = await client.get(f"{server.v1}/models")
    except httpx.HTTPError:
        return None  # the completions request will fail the same way and report it
    payload = loads(response.text) if response.status_code == 200 else None
    listed = payload.get("data") if isinstance(payload, dict) else None
    cards = [card for card in listed if isinstance(card, dict)] if isinstance(listed, list) else []
    card = next((card for card in cards if card.get("id") == request.model), cards[0] if cards else {})
    longest = card.get("max_model_len")
    if not isinstance(longest, int) or isinstance(longest, bool):
        return None
    return max(longest - len(request.prompt_ids), 1)


def render_locally(request: LiveRequest) -> list[int]:
    """The prompt as openai_harmony renders it, ending in `<|start|>assistant`.

    Raises InspectorError for messages that it cannot render.
    """
    return render(requested_by_chat(body(replace(request, endpoint=Endpoint.CHAT, extra={}))))
