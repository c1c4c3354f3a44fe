"""The tokens of a capture, parsed by another release: what it would deliver for them, without a GPU.

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
from inspector.analysis.audit.finding import Missing
from inspector.analysis.audit.verdict import Level
from inspector.analysis.prompt import first_difference
from inspector.analysis.reading import ChoiceReading, Reading, read
from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind
from inspector.capture.errors import LabError
from inspector.capture.formats import clip
from inspector.inspection.inspection import Inspection, inspect
from inspector.lab.results import version_key
from inspector.net.client.address import Server
from inspector.net.client.failures import connection_failure
from inspector.net.client.plain import trust
from inspector.protocol.harmony.vocab import Marker
from inspector.protocol.wire.event_json import dumps
from inspector.protocol.wire.stream import error_in, loads

_SCALE_OUT: Final = "--enable-scale-out"
_SCALE_OUT_FROM: Final = version_key("0.30.0")

_RENDER: Final = "chat/completions/render"
_DERENDER: Final = "chat/completions/derender"
_NOT_THERE: Final = frozenset({404, 405})
_SAID_AT_MOST: Final = 300
_BYTES_AT_MOST: Final = 2**26
"""Bytes of one answer that are read; the state of a stream repeats all its tokens."""
_STREAMED_AT_MOST: Final = 8192
"""Tokens that are derendered step by step: each step sends all tokens before it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Derendered:
    """What a server makes of a capture's request and tokens."""

    served: Inspection
    """The capture itself."""
    label: str
    """The server that was asked, e.g. `vLLM 0.33.0`."""
    streamed: Inspection | None
    """The chunks that it sends for the steps of the capture; None where it refused."""
    whole: Inspection | None
    """The message that it sends for all tokens at once; None where it refused."""
    refused: Mapping[str, str]
    """Its words, by what it refused: `render`, `streamed`, `whole`."""
    told: Sequence[int] | None
    """The prompt's tokens in the capture; None where it has none."""
    rendered: Sequence[int] | None
    """The prompt's tokens as the server renders the request."""
    tokens: int
    """How many tokens it was given."""

    @property
    def answers(self) -> dict[str, Inspection]:
        """What the server made of the tokens, by `streamed` and `whole`."""
        both = {"streamed": self.streamed, "whole": self.whole}
        return {name: one for name, one in both.items() if one is not None}

    @property
    def passed(self) -> bool:
        """True if nothing that it made of the tokens has an error."""
        return all(one.verdict.level is not Level.ERROR for one in self.answers.values())

    @property
    def sentence(self) -> str:
        """What it would deliver, beside what was delivered."""
        count = self.tokens
        ways = " and ".join({"streamed": "in a stream", "whole": "as a whole"}[name] for name in self.answers)
        if self.passed:
            found = f"{self.label} delivers these {count:,} tokens without an error, {ways}"
        else:
            bad = next(name for name, one in self.answers.items() if one.verdict.level is Level.ERROR)
            where = {"streamed": "Streamed", "whole": "As a whole"}[bad]
            found = f"{self.label} does not deliver these {count:,} tokens correctly. {where}: "
            return found + self.answers[bad].verdict.sentence
        if self.served.verdict.level is Level.ERROR:
            return f"{found}; {self.served.reading.server_label} did not."
        return f"{found}, as {self.served.reading.server_label} did."

    @property
    def prompt_sentence(self) -> str:
        """Whether the server renders the request to the prompt of the capture."""
        if self.rendered is None:
            return f"The prompt was not rendered: {self.refused['render']}"
        if self.told is None:
            count = f"{len(self.rendered):,} tokens"
            return f"{self.label} renders the request to {count}; the capture has no prompt IDs."
        found = first_difference(self.told, self.rendered)
        if found is None:
            return f"The prompt is the same: {len(self.rendered):,} tokens."
        return f"The prompt differs (left: the capture, right: {self.label}). {found.sentence}"


def scale_out(version: str) -> list[str]:
    """The flags that a release needs to serve both endpoints."""
    return [_SCALE_OUT] if version_key(version) >= _SCALE_OUT_FROM else []


def checked(capture: Capture) -> tuple[Reading, list[list[int]]]:
    """The reading of a capture that can be derendered, and its tokens in the steps in which they came.

    Tokens that the server did not send are taken from the lab's script; a rejected token that its error names
    is known too. Raises LabError for a capture that is not a chat response with token IDs, and for one of
    which not all tokens are known: another release would be given a part of the response only.
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
        return reading, [*steps, list(script[len(tokens) :])] if sent else [[one] for one in script]
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
    """Have a server render the capture's request and parse its tokens, in the same steps and as a whole.

    Of several choices the first is taken. Raises LabError for a capture that is not a chat response with
    token IDs, and for a server that has none of the two ways or cannot be reached.
    """
    reading, steps = checked(capture)
    choice = reading.choice
    refused: dict[str, str] = {}
    with httpx.Client(
        base_url=server.v1,
        headers=server.request_headers(),
        timeout=httpx.Timeout(server.silence_s, connect=server.connect_s),
        transport=transport,
        verify=trust(server.verify),
        trust_env=False,
    ) as client:
        asking = _Asking(client, server, capture, steps)
        rendered = asking.render(refused)
        prompt = rendered or reading.stream.prompt_ids
        events = asking.streamed(choice, prompt, refused)
        body = asking.whole(choice, prompt, refused)
        if events is None and body is None:
            raise LabError(f"{server.root} cannot parse the tokens: {refused['whole']}")
        label = asking.label
        found = {
            "streamed": asking.captured(events, "streamed") if events is not None else None,
            "whole": asking.captured([Event(body, kind=EventKind.BODY)], "whole")
            if body is not None
            else None,
        }
    return Derendered(
        served=inspect(capture),
        label=label,
        streamed=None if found["streamed"] is None else _inspected(found["streamed"]),
        whole=None if found["whole"] is None else _inspected(found["whole"]),
        refused=refused,
        told=reading.stream.prompt_ids,
        rendered=rendered,
        tokens=sum(map(len, steps)),
    )


def _inspected(capture: Capture) -> Inspection:
    """The verdict over an answer; its tokens are known where the server does not repeat them."""
    seen = inspect(capture)
    return seen if seen.reading.choice.has_ids else inspect(capture, truth=capture.header.script)


class _Asking:
    """The requests to one server about one capture."""

    def __init__(
        self, client: httpx.Client, server: Server, capture: Capture, steps: Sequence[Sequence[int]]
    ) -> None:
        self._client, self._server, self._capture, self._steps = client, server, capture, steps
        self._ids = [token_id for step in steps for token_id in step]
        told = loads(self._ask("GET", f"{server.root}/version").text)
        self.version = told.get("version") if isinstance(told, dict) else None
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
        """The server in a sentence."""
        return f"vLLM {self.version}" if self.version else self._server.root

    def render(self, refused: dict[str, str]) -> list[int] | None:
        """The prompt's tokens."""
        answer = self._ask("POST", _RENDER, self._request)
        ids = answer.found.get("token_ids")
        if isinstance(ids, list) and all(type(one) is int for one in ids):
            return ids
        refused["render"] = answer.words(_RENDER)
        return None

    def streamed(
        self, choice: ChoiceReading, prompt: Sequence[int] | None, refused: dict[str, str]
    ) -> list[Event] | None:
        """The chunks for the steps of the capture; the tokens of one event are one step."""
        if len(self._ids) > _STREAMED_AT_MOST:
            refused["streamed"] = (
                f"the response has more than {_STREAMED_AT_MOST:,} tokens, and each step repeats them all"
            )
            return None
        state: Any = None
        events: list[Event] = []
        for number, step in enumerate(self._steps):
            told = {"index": choice.index, "token_ids": step}
            if number == len(self._steps) - 1:
                told |= self._ending(choice)
            answer = self._ask(
                "POST",
                _DERENDER,
                {
                    "stream": True,
                    "model": self._request["model"],  # required to 0.27
                    "generate_chunk": {"request_id": "derender", "choices": [told]},
                    "stream_state": state,
                    "prompt_tokens": len(prompt or ()),
                    "prompt_token_ids": prompt,
                    "chat_request": {**self._request, "stream": True},
                },
            )
            chunk = answer.found.get("chunk")
            if not isinstance(chunk, dict):
                refused["streamed"] = answer.words(_DERENDER)
                if not events:
                    return None
                # What a client of the stream would see: an error in it.
                events.append(Event(dumps({"error": {"message": refused["streamed"]}})))
                break
            state = answer.found.get("stream_state")
            events.append(Event(dumps(chunk)))
        return [*events, Event("[DONE]")]

    def whole(
        self, choice: ChoiceReading, prompt: Sequence[int] | None, refused: dict[str, str]
    ) -> str | None:
        """The message for all tokens, as JSON."""
        told = {"index": choice.index, "token_ids": self._ids, **self._ending(choice)}
        answer = self._ask(
            "POST",
            _DERENDER,
            {
                "model": self._request["model"],
                "generate_response": {
                    "request_id": "derender",
                    "choices": [told],
                    "prompt_token_ids": prompt,
                },
                "prompt_tokens": len(prompt or ()),
                "prompt_token_ids": prompt,
                "chat_request": self._request,
            },
        )
        if answer.found:
            return answer.text
        refused["whole"] = answer.words(_DERENDER)
        return None

    def _ending(self, choice: ChoiceReading) -> dict[str, Any]:
        """How the engine ended the tokens: `stop` with the stop token that is not the model's end token."""
        last = self._ids[-1]
        if choice.finish_reason == "length":
            return {"finish_reason": "length"}
        ended = choice.finish_reason is not None or last in {Marker.RETURN, Marker.CALL}
        return {
            "finish_reason": "stop" if ended else None,
            "stop_reason": int(Marker.CALL) if last == Marker.CALL else None,
        }

    def captured(self, events: Sequence[Event], how: str) -> Capture:
        """The server's answer as a capture of its own."""
        header = replace(
            self._capture.header,
            request={**self._request, "stream": how == "streamed"},
            model=self._request.get("model"),
            server_version=self.version,
            owned_by="vllm",
            status=200,
            started_at=None,
            source=f"derender, {how}",
            script=tuple(self._ids),  # releases to 0.30 do not repeat them
            extra={},
        )
        return Capture(header=header, events=events, end=End(at_s=None, cut=False))

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> "_Answer":
        pieces: list[bytes] = []
        left = _BYTES_AT_MOST
        try:
            with self._client.stream(method, path, json=body) as answer:
                for piece in answer.iter_bytes():
                    pieces.append(piece)
                    left -= len(piece)
                    if left < 0:
                        raise LabError(
                            f"{self._server.root} sends more than {_BYTES_AT_MOST // 2**20} MiB for {path}; "
                            "derender a shorter capture"
                        )
        except httpx.HTTPError as error:
            raise LabError(connection_failure(error, self._server).sentence) from error
        return _Answer(answer.status_code, b"".join(pieces).decode("utf-8", "replace"))


class _Answer(NamedTuple):
    status: int
    text: str

    @property
    def found(self) -> Mapping[str, Any]:
        """The JSON object of an answer that worked; empty for anything else."""
        value = loads(self.text) if self.status == 200 else None
        return value if isinstance(value, dict) else {}

    def words(self, path: str) -> str:
        """Why the server did not answer, one sentence without its full stop."""
        if self.status in _NOT_THERE:
            since = "0.18.0" if path == _RENDER else "0.24.0"
            return (
                f"/v1/{path} is not available (HTTP {self.status}); vLLM's Python front end has it "
                f"from {since} on, from 0.30.0 on only with {_SCALE_OUT}"
            )
        error = error_in(loads(self.text), 0, self.status)
        return f"HTTP {self.status}: {clip(error.message if error else self.text, _SAID_AT_MOST)}"
