"""Have another release parse the tokens of a capture, without a GPU.

vLLM splits its chat endpoint in parts (pull requests in brackets). `/v1/chat/completions/render` writes
the prompt's tokens (0.18.0, 36166). `/v1/chat/completions/derender` parses the model's tokens to a message
(0.24.0, 43606), or to chunks, step by step, where the caller carries the state (0.31.0 with a parser, 50550).
From 0.30.0 on `vllm serve` has both only with `--enable-scale-out` (54579). Derender is HTTP 501 in Rust.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, NamedTuple

import httpx

from inspector.analysis.audit import transmission_of
from inspector.analysis.audit.facts import Missing
from inspector.analysis.audit.verdict import Level
from inspector.analysis.prompt import first_difference
from inspector.analysis.reading import ChoiceReading, Reading, read
from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind
from inspector.capture.errors import LabError
from inspector.capture.formats import clip
from inspector.inspection.inspection import Inspection, inspect
from inspector.matrix.results import version_key
from inspector.net.client.address import Server
from inspector.net.client.failures import connection_failure
from inspector.net.client.server_info import trust
from inspector.protocol.harmony.vocab import Marker
from inspector.protocol.wire.event_json import dumps
from inspector.protocol.wire.stream import error_in, loads
from inspector.views.rows import audit_dict

_SCALE_OUT: Final = "--enable-scale-out"
_SCALE_OUT_FROM: Final = version_key("0.30.0")

_RENDER: Final = "chat/completions/render"
_DERENDER: Final = "chat/completions/derender"
_NOT_FOUND: Final = frozenset({404, 405})
_QUOTED_CHARACTERS: Final = 300
_BYTES_AT_MOST: Final = 2**26
"""Largest response that is read; the state of a stream repeats all its tokens."""
_STREAMED_AT_MOST: Final = 8192
"""Longest response that is derendered step by step: each step sends all earlier tokens again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Derendered:
    """What a server makes of a capture's request and tokens."""

    served: Inspection
    """The capture itself."""
    label: str
    """The server, e.g. `vLLM 0.33.0`."""
    streamed: Inspection | None
    """Its chunks for the steps of the capture; None if it rejected them."""
    whole: Inspection | None
    """Its message for all tokens at once; None if it rejected them."""
    rejections: Mapping[str, str]
    """Its messages for what it rejected: `render`, `streamed`, `whole`."""
    prompt_ids: Sequence[int] | None
    """The prompt's tokens in the capture; None if it has none."""
    rendered: Sequence[int] | None
    """The prompt's tokens as the server renders the request."""
    token_count: int
    """Tokens that it parsed."""

    @property
    def responses(self) -> dict[str, Inspection]:
        """The inspected responses by name: `streamed`, `whole`."""
        side_by_side = {"streamed": self.streamed, "whole": self.whole}
        return {name: inspection for name, inspection in side_by_side.items() if inspection is not None}

    @property
    def passed(self) -> bool:
        """True if no response has an error."""
        return all(inspection.verdict.level is not Level.ERROR for inspection in self.responses.values())

    @property
    def sentence(self) -> str:
        """What it delivers, compared with what was delivered."""
        count = self.token_count
        ways = " and ".join(
            {"streamed": "in a stream", "whole": "as a whole"}[name] for name in self.responses
        )
        if self.passed:
            sentence = f"{self.label} delivers these {count:,} tokens without an error, {ways}"
        else:
            damaged = next(
                name for name, inspection in self.responses.items() if inspection.verdict.level is Level.ERROR
            )
            where = {"streamed": "Streamed", "whole": "As a whole"}[damaged]
            sentence = f"{self.label} does not deliver these {count:,} tokens correctly. {where}: "
            return sentence + self.responses[damaged].verdict.sentence
        if self.served.verdict.level is Level.ERROR:
            return f"{sentence}; {self.served.reading.server_label} did not."
        return f"{sentence}, as {self.served.reading.server_label} did."

    @property
    def prompt_sentence(self) -> str:
        """Whether the server renders the request to the prompt of the capture."""
        if self.rendered is None:
            return f"The prompt was not rendered: {self.rejections['render']}"
        if self.prompt_ids is None:
            count = f"{len(self.rendered):,} tokens"
            return f"{self.label} renders the request to {count}; the capture has no prompt IDs."
        difference = first_difference(self.prompt_ids, self.rendered)
        if difference is None:
            return f"The prompt is the same: {len(self.rendered):,} tokens."
        return f"The prompt differs (left: the capture, right: {self.label}). {difference.sentence}"


def scale_out(version: str) -> list[str]:
    """The flags that a release needs to serve both endpoints."""
    return [_SCALE_OUT] if version_key(version) >= _SCALE_OUT_FROM else []


def checked_steps(capture: Capture) -> tuple[Reading, list[list[int]]]:
    """The reading of a capture that can be derendered, and its tokens grouped by event.

    Tokens that the server did not send come from the lab's script, or from the error that names a rejected
    token. Raises LabError for a capture that is not a chat response with token IDs, or of which not all
    tokens are known.
    """
    if capture.header.endpoint is not Endpoint.CHAT:
        raise LabError(f"derender is for chat completions, and this capture is {capture.header.endpoint}")
    reading = read(capture)
    if not reading.choice.has_ids or not reading.choice.tokens:
        raise LabError("this capture has no token IDs; record it with return_token_ids")
    tokens, script = reading.choice.tokens, capture.header.script or ()
    places = groupby(range(len(tokens)), key=tokens.events.__getitem__)
    steps = [[tokens.ids[place] for place in run] for _, run in places]
    if len(script) > len(tokens):
        sent = list(script[: len(tokens)]) == list(tokens.ids)
        return reading, [*steps, list(script[len(tokens) :])] if sent else [[token_id] for token_id in script]
    transmission = transmission_of(reading)
    rejection = transmission.rejection
    if rejection is not None and rejection.missing is Missing.NONE and rejection.token_id is not None:
        if rejection.sent == len(tokens):
            steps.append([rejection.token_id])
    elif rejection is not None or transmission.ids_missing:
        raise LabError(
            f"{reading.server_label} did not send the IDs of all tokens ({len(tokens):,} came); record the "
            "request on /v1/completions, which sends them all, or with one token per step"
        )
    return reading, steps


def derender(capture: Capture, server: Server, *, transport: httpx.BaseTransport | None = None) -> Derendered:
    """Have a server render the capture's request and parse its tokens, in the same steps and all at once.

    Uses the first choice. Raises LabError for a capture that is not a chat response with all token IDs, and
    for a server that has neither endpoint or cannot be reached.
    """
    reading, steps = checked_steps(capture)
    choice = reading.choice
    rejections: dict[str, str] = {}
    with httpx.Client(
        base_url=server.v1,
        headers=server.request_headers(),
        timeout=httpx.Timeout(server.silence_s, connect=server.connect_s),
        transport=transport,
        verify=trust(server.verify),
        trust_env=False,
    ) as client:
        derender_client = _DerenderClient(client, server, capture, steps)
        rendered = derender_client.render(rejections)
        prompt = rendered or reading.stream.prompt_ids
        events = derender_client.streamed(choice, prompt, rejections)
        body = derender_client.whole(choice, prompt, rejections)
        if events is None and body is None:
            raise LabError(f"{server.root} cannot parse the tokens: {rejections['whole']}")
        label = derender_client.label
        captures = {
            "streamed": derender_client.captured(events, "streamed") if events is not None else None,
            "whole": derender_client.captured([Event(body, kind=EventKind.BODY)], "whole")
            if body is not None
            else None,
        }
    return Derendered(
        served=inspect(capture),
        label=label,
        streamed=None if captures["streamed"] is None else _inspected(captures["streamed"]),
        whole=None if captures["whole"] is None else _inspected(captures["whole"]),
        rejections=rejections,
        prompt_ids=reading.stream.prompt_ids,
        rendered=rendered,
        token_count=sum(map(len, steps)),
    )


def _inspected(capture: Capture) -> Inspection:
    """The inspected response; its tokens come from the header if the server does not repeat them."""
    inspection = inspect(capture)
    return inspection if inspection.reading.choice.has_ids else inspect(capture, truth=capture.header.script)


class _DerenderClient:
    """The requests to one server about one capture."""

    def __init__(
        self, client: httpx.Client, server: Server, capture: Capture, steps: Sequence[Sequence[int]]
    ) -> None:
        self._client, self._server, self._capture, self._steps = client, server, capture, steps
        self._ids = [token_id for step in steps for token_id in step]
        version_body = loads(self._ask("GET", f"{server.root}/version").text)
        self.version = version_body.get("version") if isinstance(version_body, dict) else None
        self.version = self.version if isinstance(self.version, str) else None
        cards = loads(self._ask("GET", "models").text)
        names = [
            card["id"]
            for card in (cards.get("data") if isinstance(cards, dict) else None) or ()
            if isinstance(card, dict) and isinstance(card.get("id"), str)
        ]
        model = capture.header.request.get("model")
        left_out = ("stream", "stream_options")
        self._request = {key: value for key, value in capture.header.request.items() if key not in left_out}
        self._request["model"] = model if model in names or not names else names[0]
        self._request["return_token_ids"] = True

    @property
    def label(self) -> str:
        """The server's name in sentences."""
        return f"vLLM {self.version}" if self.version else self._server.root

    def render(self, rejections: dict[str, str]) -> list[int] | None:
        """The prompt's tokens."""
        answer = self._ask("POST", _RENDER, self._request)
        ids = answer.json_object.get("token_ids")
        if isinstance(ids, list) and all(type(token_id) is int for token_id in ids):
            return ids
        rejections["render"] = answer.failure(_RENDER)
        return None

    def streamed(
        self, choice: ChoiceReading, prompt: Sequence[int] | None, rejections: dict[str, str]
    ) -> list[Event] | None:
        """The chunks for the steps of the capture; the tokens of one event are one step."""
        if len(self._ids) > _STREAMED_AT_MOST:
            rejections["streamed"] = (
                f"the response has more than {_STREAMED_AT_MOST:,} tokens, and each step repeats them all"
            )
            return None
        state: Any = None
        events: list[Event] = []
        for number, step in enumerate(self._steps):
            step_choice = {"index": choice.index, "token_ids": step}
            if number == len(self._steps) - 1:
                step_choice |= self._ending(choice)
            answer = self._ask(
                "POST",
                _DERENDER,
                {
                    "stream": True,
                    "model": self._request["model"],  # required up to 0.27
                    "generate_chunk": {"request_id": "derender", "choices": [step_choice]},
                    "stream_state": state,
                    "prompt_tokens": len(prompt or ()),
                    "prompt_token_ids": prompt,
                    "chat_request": {**self._request, "stream": True},
                },
            )
            chunk = answer.json_object.get("chunk")
            if not isinstance(chunk, dict):
                rejections["streamed"] = answer.failure(_DERENDER)
                if not events:
                    return None
                # As a client of the stream would get it.
                events.append(Event(dumps({"error": {"message": rejections["streamed"]}})))
                break
            state = answer.json_object.get("stream_state")
            events.append(Event(dumps(chunk)))
        return [*events, Event("[DONE]")]

    def whole(
        self, choice: ChoiceReading, prompt: Sequence[int] | None, rejections: dict[str, str]
    ) -> str | None:
        """The message for all tokens, as JSON."""
        whole_choice = {"index": choice.index, "token_ids": self._ids, **self._ending(choice)}
        answer = self._ask(
            "POST",
            _DERENDER,
            {
                "model": self._request["model"],
                "generate_response": {
                    "request_id": "derender",
                    "choices": [whole_choice],
                    "prompt_token_ids": prompt,
                },
                "prompt_tokens": len(prompt or ()),
                "prompt_token_ids": prompt,
                "chat_request": self._request,
            },
        )
        if answer.json_object:
            return answer.text
        rejections["whole"] = answer.failure(_DERENDER)
        return None

    def _ending(self, choice: ChoiceReading) -> dict[str, Any]:
        """How the engine ended; `stop_reason` names a stop token other than the model's end token."""
        last = self._ids[-1]
        if choice.finish_reason == "length":
            return {"finish_reason": "length"}
        ended = choice.finish_reason is not None or last in {Marker.RETURN, Marker.CALL}
        return {
            "finish_reason": "stop" if ended else None,
            "stop_reason": int(Marker.CALL) if last == Marker.CALL else None,
        }

    def captured(self, events: Sequence[Event], how: str) -> Capture:
        """The server's response as a capture."""
        header = replace(
            self._capture.header,
            request={**self._request, "stream": how == "streamed"},
            model=self._request.get("model"),
            server_version=self.version,
            owned_by="vllm",
            status=200,
            started_at=None,
            source=f"derender, {how}",
            script=tuple(self._ids),  # releases up to 0.30 do not repeat them
            extra={},
        )
        return Capture(header=header, events=events, end=End(at_s=None, cut=False))

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> "_Response":
        pieces: list[bytes] = []
        remaining_bytes = _BYTES_AT_MOST
        try:
            with self._client.stream(method, path, json=body) as answer:
                for piece in answer.iter_bytes():
                    pieces.append(piece)
                    remaining_bytes -= len(piece)
                    if remaining_bytes < 0:
                        raise LabError(
                            f"{self._server.root} sends more than {_BYTES_AT_MOST // 2**20} MiB for {path}; "
                            "derender a shorter capture"
                        )
        except httpx.HTTPError as error:
            raise LabError(connection_failure(error, self._server).sentence) from error
        return _Response(answer.status_code, b"".join(pieces).decode("utf-8", "replace"))


class _Response(NamedTuple):
    status: int
    text: str

    @property
    def json_object(self) -> Mapping[str, Any]:
        """The JSON object of a successful response; empty for anything else."""
        value = loads(self.text) if self.status == 200 else None
        return value if isinstance(value, dict) else {}

    def failure(self, path: str) -> str:
        """Why the request failed, as a sentence without its full stop."""
        if self.status in _NOT_FOUND:
            since = "0.18.0" if path == _RENDER else "0.24.0"
            return (
                f"/v1/{path} is not available (HTTP {self.status}); vLLM's Python front end has it "
                f"from {since} on, from 0.30.0 on only with {_SCALE_OUT}"
            )
        error = error_in(loads(self.text), 0, self.status)
        return f"HTTP {self.status}: {clip(error.message if error else self.text, _QUOTED_CHARACTERS)}"


def derendered_row(derendered: Derendered) -> dict[str, Any]:
    """The result for `--json`; each response has the keys of `audit --json`."""
    return {
        "server": derendered.label,
        "passed": derendered.passed,
        "sentence": derendered.sentence,
        "prompt": {
            "sentence": derendered.prompt_sentence,
            "served": None if derendered.prompt_ids is None else len(derendered.prompt_ids),
            "rendered": None if derendered.rendered is None else len(derendered.rendered),
            "identical": None
            if derendered.prompt_ids is None or derendered.rendered is None
            else list(derendered.prompt_ids) == list(derendered.rendered),
        },
        "served": audit_dict(derendered.served) | {"file": "served"},
        **dict.fromkeys(("streamed", "whole")),
        **{name: audit_dict(response) | {"file": name} for name, response in derendered.responses.items()},
        "refused": dict(derendered.rejections),
    }


def derendered_lines(derendered: Derendered) -> list[str]:
    """The result for the terminal."""
    by_way = {f"served by {derendered.served.reading.server_label}": derendered.served}
    by_way |= {
        f"{name} by {derendered.label}": inspection for name, inspection in derendered.responses.items()
    }
    width = max(map(len, by_way))
    return [
        derendered.sentence,
        f"  {derendered.prompt_sentence}",
        *(
            f"  {way:{width}}  {inspection.verdict.level}: {inspection.verdict.sentence}"
            for way, inspection in by_way.items()
        ),
        *(f"  {name}: refused. {words}" for name, words in derendered.rejections.items() if name != "render"),
    ]
