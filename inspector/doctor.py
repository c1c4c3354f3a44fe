"""Is a server set up right for gpt-oss: checks by asking it, each with what to change.

Asks /health, /version and /v1/models, then sends three short requests (text, a tool call, Responses)
and audits their streams. Changes nothing on the server. What a stream cannot show is "unknown", never "ok".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

import httpx

from inspector.audit import Finding, Severity
from inspector.capture import Endpoint
from inspector.client.address import Server
from inspector.client.asking import owner_in, trust
from inspector.client.failures import connection_failure, refusal
from inspector.client.outcome import Outcome, OutcomeKind
from inspector.client.request import LiveRequest
from inspector.diagnosis.advice import first_advice, known_faults
from inspector.diagnosis.steps import Situation, first_step, situation_of
from inspector.engines import DEFAULT, Engine, engine_of
from inspector.harmony.vocab import Marker
from inspector.metrics import figures
from inspector.reading import Evidence, Reading
from inspector.runs.registry import Registry
from inspector.runs.run import Run
from inspector.wire.stream import loads

__all__ = ["Check", "CheckState", "Checkup", "check_server"]

PROMPT: Final = "Think briefly, then answer in one short sentence: what is 17 times 3?"
TOOL_PROMPT: Final = "What is the weather in Paris right now? Call the tool get_weather."
_WEATHER: Final = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
_MAX_TOKENS: Final = 512
_ANSWER_WITHIN_S: Final = 120.0
_EOS: Final = '"eos_token_id": [200002, 199999, 200012]'


class CheckState(StrEnum):
    """How a check went."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """The server's answer does not show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question about a server and its answer."""

    name: str
    state: CheckState
    says: str
    """What was seen, one sentence."""
    change: str = ""
    """What to change: a flag, a file, an upgrade; empty when nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """All checks of one server."""

    address: str
    version: str | None
    model: str | None
    engine: Engine
    checks: tuple[Check, ...]

    @property
    def worst(self) -> CheckState:
        """The worst state of all checks."""
        states = {check.state for check in self.checks}
        order = (CheckState.FAILED, CheckState.WARNING, CheckState.UNKNOWN)
        return next((state for state in order if state in states), CheckState.OK)

    @property
    def sentence(self) -> str:
        """How it went, in words."""
        failed = [one.name for one in self.checks if one.state is CheckState.FAILED]
        return f"{len(failed)} of {len(self.checks)} checks failed: {', '.join(failed) or 'none'}."


def check_server(server: Server, *, model: str | None = None, registry: Registry | None = None) -> Checkup:
    """Check a server; blocks until its streams have ended. `model` None takes its gpt-oss model."""
    checks: list[Check] = []
    version: str | None = None
    with httpx.Client(
        headers=server.request_headers(),
        timeout=httpx.Timeout(10.0, connect=server.connect_s),
        verify=trust(server.verify),
    ) as client:
        basics = _Basics(server, client, model)
        checks.extend(basics.checks())
        version, model = basics.version, basics.model
    if model is not None and basics.reachable:
        checks.extend(_streams(server, model, registry or Registry(None), basics.engine))
        checks.extend(_known_faults(version, basics.engine))
    return Checkup(
        address=server.v1, version=version, model=model, engine=basics.engine, checks=tuple(checks)
    )


class _Basics:
    """What the server says without generating."""

    def __init__(self, server: Server, client: httpx.Client, model: str | None) -> None:
        self.server = server
        self.client = client
        self.model = model
        self.version: str | None = None
        self.reachable = False
        self.engine = DEFAULT

    def checks(self) -> Iterator[Check]:
        found = self._get(f"{self.server.v1}/models", "/models")
        if isinstance(found, str):
            yield _failed("reachable", found, "Start the server, or correct --base-url and --api-key.")
            return
        self.reachable = True
        self.engine = engine_of(owned_by=owner_in(found, self.model))
        yield _ok("reachable", f"{self.server.v1} answers.")
        health = self._status(f"{self.server.root}/health")
        if health == 200:
            yield _ok("health", "/health says 200.")
        else:
            told = f"/health says {health}" if health else "/health does not answer"
            change = "Look at the server's log; if a proxy in front hides /health, name the server itself."
            yield _warning("health", f"{told}.", change)
        yield self._versions()
        yield self._models(found)

    def _get(self, address: str, path: str) -> dict[str, Any] | str:
        try:
            answer = self.client.get(address)
        except httpx.HTTPError as error:
            return connection_failure(error, self.server).sentence
        found = loads(answer.text) if answer.status_code == 200 else None
        if not isinstance(found, dict):
            return refusal(answer.status_code, answer.text, self.server, path=path).sentence
        return found

    def _status(self, address: str) -> int | None:
        try:
            return self.client.get(address).status_code
        except httpx.HTTPError:
            return None

    def _versions(self) -> Check:
        told = self._get(f"{self.server.root}/version", "/version")
        version = told.get("version") if isinstance(told, dict) else None
        if not isinstance(version, str):
            return _unknown(
                "version",
                "/version does not say which release this is.",
                f"A proxy may hide it, or it is no {self.engine.label}; name the server itself in "
                "--base-url.",
            )
        self.version = version
        return _ok("version", f"The server calls itself {version}." + self._front_end())

    def _front_end(self) -> str:
        return "" if self.engine is DEFAULT else f" It is {self.engine.label}."

    def _models(self, found: dict[str, Any]) -> Check:
        cards = found.get("data")
        cards = [card for card in cards if isinstance(card, dict)] if isinstance(cards, list) else []
        names = [str(card.get("id")) for card in cards]
        listed = ", ".join(names[:5]) + (" and others" if len(names) > 5 else "")
        if not names:
            return _failed(
                "models",
                "The server lists no model.",
                self.engine.start_hint,
            )
        if self.model is not None:
            if self.model in names:
                return _ok("models", f"It serves {self.model}.")
            return _failed("models", f"It does not serve {self.model}.", f"Use one of: {listed}.")
        own = [str(card.get("id")) for card in cards if "gpt-oss" in f"{card.get('id')} {card.get('root')}"]
        self.model = (own or names)[0]
        if own:
            return _ok("models", f"It serves {self.model}.")
        return _warning(
            "models",
            f"No model is called gpt-oss; {self.model} was asked.",
            f"Name the gpt-oss model with --model; there are: {listed}.",
        )


def _streams(server: Server, model: str, registry: Registry, engine: Engine) -> Iterator[Check]:
    """What three short streams show."""
    text = LiveRequest(
        model=model, prompt=PROMPT, max_tokens=_MAX_TOKENS, temperature=0.0, reasoning_effort="low"
    )
    run = _ask(registry, server, text)
    yield _answers("chat", run)
    if run.reading().choice.deltas or run.events:
        yield from _chat_checks(run)
    tool = replace(text, prompt=TOOL_PROMPT, tools=[_WEATHER], tool_choice="auto")
    yield _tool_check(_ask(registry, server, tool), text=run.outcome, engine=engine)
    if Endpoint.RESPONSES in engine.lacks:
        yield _unknown("responses", f"{engine.label} has no Responses endpoint.")
        return
    responses = _ask(registry, server, replace(text, endpoint=Endpoint.RESPONSES))
    yield _answers("responses", responses)


def _ask(registry: Registry, server: Server, request: LiveRequest) -> Run:
    run = registry.start(replace(server, silence_s=min(server.silence_s, _ANSWER_WITHIN_S)), request)
    if not registry.wait(run, 2 * _ANSWER_WITHIN_S):
        run.stop()
        registry.wait(run, 5.0)
    return run


def _answers(name: str, run: Run) -> Check:
    """Whether a stream came through, and what the audit says of it."""
    seen = run.audit().seen
    findings, judged, situation = seen.findings, seen.verdict, situation_of(seen.reading)
    errors = [one for one in findings if one.severity is Severity.ERROR]
    if run.outcome.kind is OutcomeKind.NO_ENDPOINT and run.header.endpoint is Endpoint.RESPONSES:
        return _unknown(name, "The server has no Responses endpoint.")
    if run.outcome.failed and not errors:
        return _failed(name, run.outcome.failure, "See the server's log for the reason.")
    if run.outcome.failed:
        advice = _advice(errors if run.events else (), situation, kept=_came(run))
        return _failed(name, run.outcome.failure, advice)
    if errors:
        return _failed(name, judged.sentence, _advice(errors, situation))
    if judged.level == "unknown":
        return _unknown(name, judged.sentence, judged.why)
    if findings:
        return _warning(name, judged.sentence, _advice(findings, situation))
    return _ok(name, judged.sentence)


def _chat_checks(run: Run) -> Iterator[Check]:
    reading = run.reading()
    choice = reading.choice
    ids = choice.tokens.ids
    if not _came(run):
        yield _unknown("token ids", "No answer came, so neither token ids nor the format were seen.")
        return
    if choice.evidence is not Evidence.TOKEN_IDS:
        yield _failed(
            "token ids",
            "The stream carries no token ids, so what the model emitted cannot be known.",
            reading.engine.upgrade_hint(reading.spec),
        )
        yield _unknown("harmony", "Without token ids the format is not seen.")
        return
    yield _ok(
        "token ids",
        f"{reading.engine.evidence_key(reading.spec)} works: {len(ids)} tokens came with their ids.",
    )
    yield _harmony(reading, ids)
    yield _reasoning(reading)
    yield _stops(ids)
    yield _clock(reading)


def _harmony(reading: Reading, ids: Sequence[int]) -> Check:
    if ids and (ids[0] in {Marker.CHANNEL, Marker.START} or Marker.MESSAGE in ids):
        return _ok("harmony", "The model writes Harmony messages.")
    return _failed(
        "harmony",
        "The tokens hold no Harmony markers.",
        'Serve gpt-oss: its config.json says "model_type": "gpt_oss"; '
        f"without that {reading.engine.label} neither renders nor parses Harmony.",
    )


def _reasoning(reading: Reading) -> Check:
    choice = reading.choice
    made, got = choice.generated(), choice.delivered()
    if made is None or not made.reasoning:
        says = "The model did not think in this answer, so the reasoning parser was not seen at work."
        return _unknown("reasoning", says)
    if got.reasoning:
        return _ok("reasoning", "Analysis arrives in the reasoning field.")
    where = "in content" if made.reasoning[:20] in got.content else "nowhere"
    return _failed(
        "reasoning",
        f"The model's analysis arrives {where}, not in the reasoning field.",
        reading.engine.reasoning_hint,
    )


def _stops(ids: Sequence[int]) -> Check:
    stop = next((place for place, one in enumerate(ids) if one in {Marker.RETURN, Marker.CALL}), None)
    if stop is None:
        return _unknown("stop tokens", "No <|return|> or <|call|> came within the answer's limit.")
    after = len(ids) - stop - 1
    if not after:
        return _ok("stop tokens", "Generation ends at the stop token.")
    return _failed(
        "stop tokens",
        f"{after} tokens follow <|{Marker(ids[stop]).name.lower()}|>: the server does not stop there.",
        f"In the model folder's generation_config.json write {_EOS}.",
    )


def _clock(reading: Reading) -> Check:
    shown = figures(reading)
    mean = shown.tokens_per_event_mean or 1.0
    if shown.tokens_per_event_max <= 1:
        return _ok("tokens per event", "Each event carries one token.")
    says = f"Events carry up to {shown.tokens_per_event_max} tokens ({mean:.1f} on average)."
    engine = reading.engine
    if engine.reached(reading.server_version, engine.whole_steps_since) is False:
        return _warning(
            "tokens per event",
            f"{says} {reading.server_label} loses text where such an event crosses a message.",
            f"Upgrade to {engine.label} {engine.whole_steps_since} or newer; "
            "until then --stream-interval 1 makes it rarer.",
        )
    return _ok("tokens per event", says)


def _tool_check(run: Run, *, text: Outcome, engine: Engine) -> Check:
    name = "tool calls"
    if run.outcome.failed and not _came(run):
        if run.outcome.same_failure(text):
            return _unknown(name, "It failed as the request without tools did, so no call was seen.")
        known = any(word in run.outcome.words for word in engine.tools_words)
        return _failed(name, run.outcome.failure, engine.tools_hint if known else engine.tools_question)
    seen = run.audit().seen
    reading, findings = seen.reading, seen.findings
    made, got = reading.choice.generated(), reading.choice.delivered()
    if (
        got.tool_calls
        and made is not None
        and [one.arguments for one in made.tool_calls] != [one.arguments for one in got.tool_calls]
    ):
        return _failed(name, seen.verdict.sentence, _advice(findings, situation_of(reading)))
    if got.tool_calls:
        return _ok(name, f"A call of {got.tool_calls[0].name} streams as a tool call.")
    if made is not None and made.tool_calls:
        return _failed(
            name,
            f"The model called {made.tool_calls[0].name}, but no tool call arrived.",
            engine.tools_hint,
        )
    return _unknown(name, "The model made no tool call, so none was seen.")


def _known_faults(version: str | None, engine: Engine) -> Iterator[Check]:
    for issue in known_faults(version, engine):
        says = f"{engine.labelled(version)}: {issue.title} ({issue.id})."
        yield _warning("known fault", says, first_step(issue, Situation(version=version, engine=engine)))


def _came(run: Run) -> bool:
    """True when anything of an answer came: a token or a piece of text."""
    return any(choice.tokens or choice.deltas for choice in run.reading().choices)


def _advice(findings: Sequence[Finding], situation: Situation, *, kept: bool = True) -> str:
    """The first step for the likeliest known issue; `kept` when there is a stream to look at."""
    if advice := first_advice(findings, situation):
        return advice
    if not kept:
        return "The server's words and its log say why."
    return "Keep this stream with `python -m inspector record` and look at it on the Replay page."


def _ok(name: str, says: str) -> Check:
    return Check(name=name, state=CheckState.OK, says=says)


def _warning(name: str, says: str, change: str) -> Check:
    return Check(name=name, state=CheckState.WARNING, says=says, change=change)


def _unknown(name: str, says: str, change: str = "") -> Check:
    return Check(name=name, state=CheckState.UNKNOWN, says=says, change=change)


def _failed(name: str, says: str, change: str) -> Check:
    return Check(name=name, state=CheckState.FAILED, says=says, change=change)
