"""Prompts to requests, one shape an endpoint."""

from collections.abc import Sequence
from dataclasses import replace

from inspector.capture.capture import Endpoint
from inspector.fleet.probe.mix import Ask
from inspector.fleet.probe.prompts import Prompt
from inspector.fleet.probe.sending import Side
from inspector.net.client.ground_truth import answer_room, rendered_prompt
from inspector.net.client.plain import open_client
from inspector.net.client.request import LiveRequest, body
from inspector.protocol.wire.endpoints import spec_of


async def asks_of(
    prompts: Sequence[Prompt], endpoints: Sequence[Endpoint], side: Side, *, like: LiveRequest | None = None
) -> list[Ask]:
    """The requests of prompts on endpoints; `like` has the sampling. Prompts for completions are rendered."""
    template = like or LiveRequest(model=side.model)
    found: list[Ask] = []
    for endpoint in endpoints:
        for prompt in prompts:
            extra = {**template.extra, **prompt.extra}
            limit = extra.pop("max_tokens", template.max_tokens)  # each endpoint has a name of its own for it
            request = replace(
                template,
                max_tokens=limit if isinstance(limit, int) else None,
                model=side.model,
                endpoint=endpoint,
                prompt=prompt.text,
                messages=prompt.messages,
                tools=prompt.tools or template.tools,
                tool_choice=template.tool_choice if prompt.tool_choice is None else prompt.tool_choice,
                extra=extra,
            )
            if spec_of(endpoint).raw:
                request = await _rendered(request, side)
            found.append(Ask(label=prompt.label, endpoint=endpoint, body=body(request, side.engine)))
    # Endpoints take turns, not one after the other: what changes with time changes for all of them.
    count = len(prompts)
    return [found[place * count + number] for number in range(count) for place in range(len(endpoints))]


async def _rendered(request: LiveRequest, side: Side) -> LiveRequest:
    async with open_client(side.server) as plain:
        rendered = await rendered_prompt(side.server, request, plain)
        request = replace(request, prompt_ids=rendered.ids)
        if request.max_tokens is None:
            room = await answer_room(side.server, request, plain)
            request = replace(request, max_tokens=room or 4096)
    return request
