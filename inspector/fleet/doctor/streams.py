"""Checks by a few short streams: text, a tool call, the other endpoints that parse Harmony."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from inspector.analysis.audit import Finding, Severity
from inspector.analysis.metrics import figures
from inspector.analysis.reading import Evidence, Reading
from inspector.capture.capture import Endpoint
from inspector.capture.formats import listed
from inspector.fleet.doctor.checks import Check, failed, ok, unknown, warning
from inspector.issues.advice import first_advice
from inspector.issues.catalogue.issue import Observation
from inspector.issues.catalogue.steps import Situation, situation_of
from inspector.net.client.address import Server
from inspector.net.client.outcome import OutcomeKind
from inspector.net.client.questions import PROMPT, TOOL_PROMPT, WEATHER
from inspector.net.client.request import LiveRequest
from inspector.net.runs.registry import Registry
from inspector.net.runs.run import LiveRun
from inspector.protocol.engines import Engine
from inspector.protocol.harmony.vocab import Marker
from inspector.protocol.wire.endpoints import ASKED, EndpointSpec

_MAX_TOKENS: Final = 512
_ANSWER_WITHIN_S: Final = 120.0
_TOOLS: Final = "tool calls"
_EOS: Final = '"eos_token_id": [200002, 199999, 200012]'


class Streams:
    """The streams of one server; `shown` and `absent` are what they prove about known issues."""

    def __init__(self, server: Server, model: str, registry: Registry, engine: Engine) -> None:
        self.shown: set[Observation] = set()
        self.absent: set[Endpoint] = set(engine.lacks)
        """Endpoints that the server does not have."""
        self._server = server
        self._registry = registry
        self._engine = engine
        self._text = LiveRequest(
            model=model, prompt=PROMPT, max_tokens=_MAX_TOKENS, temperature=0.0, reasoning_effort="low"
        )

    def checks(self) -> Iterator[Check]:
        """Send the requests, one after another."""
        run = self._ask(self._text)
        yield _answers("chat", run)
        if run.reading().choice.deltas or run.events:
            yield from _chat_checks(run)
        self.shown.update(_shown_by(run))
        yield self._tool_calls(run)
        for spec in ASKED:
            if spec.parsed and spec.endpoint is not self._text.endpoint:
                yield self._endpoint(spec)

    def _endpoint(self, spec: EndpointSpec) -> Check:
        """Whether text arrives there, where the server has it."""
        name, label = spec.endpoint.value, spec.label.capitalize()
        if spec.endpoint in self.absent:
            return unknown(name, f"{self._engine.label} has no {label} endpoint.")
        run = self._ask(replace(self._text, endpoint=spec.endpoint))
        if run.outcome.kind is OutcomeKind.NO_ENDPOINT:
            self.absent.add(spec.endpoint)
            return unknown(name, f"The server has no {label} endpoint.")
        return _answers(name, run)

    def _tool_calls(self, text: LiveRun) -> Check:
        """The prompt asks for a call; if the model makes none, `tool_choice` forces one."""
        request = replace(self._text, prompt=TOOL_PROMPT, tools=[WEATHER], tool_choice="auto")
        run = self._ask(request)
        if run.outcome.failed and not _has_response(run):
            if run.outcome.same_failure(text.outcome):
                return unknown(_TOOLS, "It failed as the request without tools did, so no call was seen.")
            about_tools = any(word in run.outcome.words for word in self._engine.tools_words)
            change = self._engine.tools_hint if about_tools else self._engine.tools_question
            return failed(_TOOLS, run.outcome.failure, change)
        if (check := _call(run, self._engine)) is not None:
            return check
        forced = self._ask(replace(request, tool_choice="required"))
        if forced.outcome.failed and not _has_response(forced):
            sentence = (
                "The model made no tool call with tool_choice: auto, and the server does not take required"
            )
            return unknown(_TOOLS, f"{sentence}: {forced.outcome.words or forced.outcome.failure}")
        if (check := _call(forced, self._engine)) is not None:
            self.shown.add(Observation.FORCED_CALL)
            return check
        return unknown(_TOOLS, "The model made no tool call, not even with tool_choice: required.")

    def _ask(self, request: LiveRequest) -> LiveRun:
        silence_s = min(self._server.silence_s, _ANSWER_WITHIN_S)
        run = self._registry.start(replace(self._server, silence_s=silence_s), request)
        if not self._registry.wait(run, 2 * _ANSWER_WITHIN_S):
            run.stop()
            self._registry.wait(run, 5.0)
        return run


def _shown_by(run: LiveRun) -> Iterator[Observation]:
    """What a response proves by arriving."""
    reading = run.reading()
    if not _has_response(run):
        return
    yield Observation.ANSWER
    if reading.choice.evidence is Evidence.TOKEN_IDS and reading.stream.counted == len(reading.choice.tokens):
        yield Observation.ALL_TOKEN_IDS


def _answers(name: str, run: LiveRun) -> Check:
    """Whether a stream arrived, and its verdict."""
    examined = run.audit().examined
    findings, verdict, situation = examined.findings, examined.verdict, situation_of(examined.reading)
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if run.outcome.failed and not errors:
        return failed(name, run.outcome.failure, "See the server's log for the reason.")
    if run.outcome.failed:
        advice = _advice(errors if run.events else (), situation, kept=_has_response(run))
        return failed(name, run.outcome.failure, advice)
    if errors:
        return failed(name, verdict.sentence, _advice(errors, situation))
    if verdict.level == "unknown" and not findings and not examined.reading.spec.evidence_key:
        return ok(name, f"An answer arrives. {examined.reading.spec.no_ids}")
    if verdict.level == "unknown":
        return unknown(name, f"{verdict.sentence} {verdict.why}")
    if findings:
        return warning(name, verdict.sentence, _advice(findings, situation))
    return ok(name, verdict.sentence)


def _chat_checks(run: LiveRun) -> Iterator[Check]:
    reading = run.reading()
    choice = reading.choice
    ids = choice.tokens.ids
    if not _has_response(run):
        yield unknown("token ids", "No response came, so neither token IDs nor the format were seen.")
        return
    if choice.evidence is not Evidence.TOKEN_IDS:
        yield failed(
            "token ids",
            "The stream has no token IDs, so what the model generated is unknown.",
            reading.engine.evidence_hint(reading.spec, requested=True, version=reading.server_version),
        )
        yield unknown("harmony", "Without token IDs the format is not seen.")
        return
    yield ok(
        "token ids",
        f"{listed(list(reading.engine.evidence_request(reading.spec)))} works: "
        f"{len(ids)} tokens came with their IDs.",
    )
    yield _harmony(reading, ids)
    yield _reasoning(reading)
    yield _stops(ids)
    yield _clock(reading)


def _harmony(reading: Reading, ids: Sequence[int]) -> Check:
    if ids and (ids[0] in {Marker.CHANNEL, Marker.START} or Marker.MESSAGE in ids):
        return ok("harmony", "The model writes Harmony messages.")
    return failed(
        "harmony",
        "The tokens contain no special tokens of Harmony.",
        'Serve gpt-oss: its config.json says "model_type": "gpt_oss"; '
        f"without that {reading.engine.label} neither renders nor parses Harmony.",
    )


def _reasoning(reading: Reading) -> Check:
    choice = reading.choice
    generated, delivered = choice.generated(), choice.delivered()
    if generated is None or not generated.reasoning:
        sentence = "The model wrote no reasoning in this response, so the reasoning parser was not tested."
        return unknown("reasoning", sentence)
    if delivered.reasoning:
        return ok("reasoning", "Analysis arrives in the reasoning field.")
    destination = "in content" if generated.reasoning[:20] in delivered.content else "nowhere"
    return failed(
        "reasoning",
        f"The model's analysis arrives {destination}, not in the reasoning field.",
        reading.engine.reasoning_hint,
    )


def _stops(ids: Sequence[int]) -> Check:
    stop = next(
        (place for place, token_id in enumerate(ids) if token_id in {Marker.RETURN, Marker.CALL}), None
    )
    if stop is None:
        return unknown("stop tokens", "No <|return|> or <|call|> came within the token limit.")
    after = len(ids) - stop - 1
    if not after:
        return ok("stop tokens", "Generation ends at the stop token.")
    return failed(
        "stop tokens",
        f"{after} tokens follow <|{Marker(ids[stop]).name.lower()}|>: the server does not stop there.",
        f"In the model folder's generation_config.json write {_EOS}.",
    )


def _clock(reading: Reading) -> Check:
    metrics = figures(reading)
    mean = metrics.tokens_per_event_mean or 1.0
    if metrics.tokens_per_event_max <= 1:
        return ok("tokens per event", "Each event carries one token.")
    sentence = f"Events carry up to {metrics.tokens_per_event_max} tokens ({mean:.1f} on average)."
    engine = reading.engine
    if engine.reached(reading.server_version, engine.whole_steps_since) is False:
        return warning(
            "tokens per event",
            f"{sentence} {reading.server_label} loses text where such an event crosses a message.",
            f"Upgrade to {engine.label} {engine.whole_steps_since} or newer; "
            "until then --stream-interval 1 makes it rarer.",
        )
    return ok("tokens per event", sentence)


def _call(run: LiveRun, engine: Engine) -> Check | None:
    """The result for the tool call of a stream; None if the model made none."""
    examined = run.audit().examined
    reading, findings = examined.reading, examined.findings
    generated, delivered = reading.choice.generated(), reading.choice.delivered()
    if (
        delivered.tool_calls
        and generated is not None
        and [call.arguments for call in generated.tool_calls]
        != [call.arguments for call in delivered.tool_calls]
    ):
        return failed(_TOOLS, examined.verdict.sentence, _advice(findings, situation_of(reading)))
    if delivered.tool_calls:
        return ok(_TOOLS, f"A call of {delivered.tool_calls[0].name} streams as a tool call.")
    if generated is not None and generated.tool_calls:
        return failed(
            _TOOLS,
            f"The model called {generated.tool_calls[0].name}, but no tool call arrived.",
            engine.tools_hint,
        )
    return None


def _has_response(run: LiveRun) -> bool:
    """True if a token or text arrived."""
    return any(choice.tokens or choice.deltas for choice in run.reading().choices)


def _advice(findings: Sequence[Finding], situation: Situation, *, kept: bool = True) -> str:
    """The first step for the likeliest known issue; `kept` if there is a stream to look at."""
    if advice := first_advice(findings, situation):
        return advice
    if not kept:
        return "See the server's message and its log for the reason."
    return "Keep this stream with `python -m inspector record` and look at it on the Replay page."
