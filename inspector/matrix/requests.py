"""Requests that make a lab server sample a script, for each endpoint and for a probe."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.fleet.probe import ProbeRequest
from inspector.matrix.scripts import Script, named
from inspector.net.client.messages_request import messages_tool
from inspector.protocol.harmony import vocab
from inspector.protocol.wire.endpoints import spec_of

SERVED_NAME: Final = "openai/gpt-oss-tiny"
"""The model of a lab server."""

MAX_TOKENS: Final = 2000

_TOOLS: Final[Mapping[str, tuple[str, dict[str, Any]]]] = {
    "get_weather": ("Weather of a city.", {"city": {"type": "string"}, "unit": {"type": "string"}}),
    "get_time": ("Time in a zone.", {"zone": {"type": "string"}}),
    "run": ("Runs something.", {"code": {"type": "string"}}),
}

_BUILT_IN: Final[Mapping[str, dict[str, Any]]] = {
    "python": {"type": "code_interpreter", "container": {"type": "auto"}},
    "browser": {"type": "web_search_preview"},
}


def request_body(
    endpoint: Endpoint, script: Script, *, model: str = SERVED_NAME, marker: str | None = None
) -> dict[str, Any]:
    """The JSON body that makes a lab server sample `script` on one endpoint.

    `marker` replaces `[[script NAME]]` in the user's text, for scripts that the server does not have.
    """
    text = f"Please say this: {marker or f'[[script {script.name}]]'}"
    request: dict[str, Any] = {"model": model, "stream": script.stream, "temperature": 0}
    budget = script.request.get("max_tokens", MAX_TOKENS)
    if script.request.get("ignore_eos"):
        request["ignore_eos"] = True
    match endpoint:
        case Endpoint.RESPONSES:
            request |= {"input": text, "max_output_tokens": budget}
            if tools := _responses_tools(script.tools, script.built_in):
                request["tools"] = tools
        case Endpoint.COMPLETIONS:
            # The chat's format as token IDs. Completions are not parsed as Harmony: every token arrives.
            prompt = f"<|start|>user<|message|>{text}<|end|><|start|>assistant"
            request |= {"prompt": vocab.encode(prompt), "max_tokens": budget, "skip_special_tokens": False}
        case Endpoint.CHAT:
            request |= {"messages": [{"role": "user", "content": text}], "max_tokens": budget}
            if script.tools:
                request["tools"] = [
                    {"type": "function", "function": function_tool(name)} for name in script.tools
                ]
        case Endpoint.MESSAGES:
            request |= {"messages": [{"role": "user", "content": text}], "max_tokens": budget}
            if script.tools:
                request["tools"] = [messages_tool(function_tool(name)) for name in script.tools]
        case _:
            raise LabError(f"no script is asked at {endpoint}; 'lab scripts --json' names the endpoints")
    spec = spec_of(endpoint)
    if spec.evidence_key:
        request[spec.evidence_key] = True
    if spec.carries_ids and script.stream:
        request["stream_options"] = {"include_usage": True}
    return request


def _responses_tools(tools: Sequence[str], built_in: Sequence[str]) -> list[dict[str, Any]]:
    return [
        *({"type": "function", **function_tool(name)} for name in tools),
        *(_BUILT_IN[name] for name in built_in),
    ]


def function_tool(name: str) -> dict[str, Any]:
    """The definition of a function tool, as scripts offer it."""
    description, properties = _TOOLS.get(name, ("A function.", {}))  # from a capture
    return {
        "name": name,
        "description": description,
        "parameters": {"type": "object", "properties": properties},
    }


def script_asks(names: Sequence[str], endpoints: Sequence[Endpoint]) -> list[ProbeRequest]:
    """The requests that make a lab server sample scripts, on each endpoint in turn.

    Raises LabError for an unknown script, or if no script can run on these endpoints.
    """
    asks = [
        ProbeRequest(
            label=script.name, endpoint=endpoint, body=request_body(endpoint, script), script=script.sampled
        )
        for script in named(names)
        for endpoint in endpoints
        if endpoint in script.endpoints
    ]
    if not asks:
        raise LabError(f"no script of these can be asked at {endpoints[0].value}; choose another --endpoint")
    return asks


def script_controls(names: Sequence[str]) -> dict[str, ProbeRequest]:
    """The same scripts on completions, whose output no parser reads; by name."""
    return {
        script.name: ProbeRequest(
            label=script.name,
            endpoint=Endpoint.COMPLETIONS,
            body=request_body(Endpoint.COMPLETIONS, script),
            script=script.sampled,
        )
        for script in named(names)
        if Endpoint.COMPLETIONS in script.endpoints
    }
