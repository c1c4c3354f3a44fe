"""Whose response it is: by what alone its server sends, and unknown without that.

The shapes are those of public libraries and sources, the values invented; no hosted service was asked.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from inspector.analysis.audit import Kind
from inspector.analysis.audit.verdict import Level
from inspector.analysis.reading import Evidence
from inspector.capture.capture import Capture, Endpoint, Event, EventKind, Header
from inspector.inspection.inspection import Inspection, inspect
from inspector.issues import catalogue
from inspector.issues.catalogue.issue import Side
from inspector.issues.findings.diagnose import diagnose_capture
from inspector.net.client.request import LiveRequest, body
from inspector.net.tap.rewriting import EventRewriter, body_without_ids
from inspector.protocol.engines import EITHER_VLLM, ENGINES, GATEWAYS, UNKNOWN, Engine, engine_of
from inspector.protocol.engines.gateways import AGENTIC_API, LITELLM, OPENROUTER
from inspector.protocol.engines.hosted import BEDROCK, CEREBRAS, CLOUDFLARE, FIREWORKS, GROQ, TOGETHER
from inspector.protocol.engines.llama_cpp import LLAMA_CPP
from inspector.protocol.engines.others import LMDEPLOY, TENSORRT_LLM
from inspector.protocol.engines.sglang import SGLANG
from inspector.protocol.harmony.vocab import encode
from tests.support.streams import CLOSED, LOSS, chat

IDS = encode(
    "<|channel|>analysis<|message|>Two.<|end|>"
    "<|start|>assistant<|channel|>final<|message|>Four it is.<|return|>"
)
MESSAGE = {"role": "assistant", "reasoning": "Two.", "content": "Four it is."}


def sse(*chunks: Mapping[str, Any], comments: tuple[str, ...] = (), **header: Any) -> Capture:
    events = [Event(comment, kind=EventKind.COMMENT) for comment in comments]
    events += [Event(json.dumps(chunk)) for chunk in chunks] + [Event("[DONE]")]
    return Capture(header=Header(endpoint=Endpoint.CHAT, **header), events=events, end=CLOSED)


def response(
    message: Mapping[str, Any] = MESSAGE, *, choice: Mapping[str, Any] = {}, **payload: Any
) -> Capture:
    choices = [{"index": 0, "message": message, "finish_reason": "stop", **choice}]
    text = json.dumps({"object": "chat.completion", "choices": choices, **payload})
    events = [Event(text, kind=EventKind.BODY)]
    return Capture(header=Header(endpoint=Endpoint.CHAT), events=events, end=CLOSED)


def responses(*payloads: Mapping[str, Any]) -> Capture:
    events = [Event(json.dumps(payload), None, payload["type"]) for payload in payloads]
    return Capture(header=Header(endpoint=Endpoint.RESPONSES), events=events, end=CLOSED)


def chunk(delta: Mapping[str, Any], *, choice: Mapping[str, Any] = {}, **payload: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None, **choice}], **payload}


RESPONSES: Mapping[str, tuple[Engine, Capture]] = {
    "groq chunk": (GROQ, sse(chunk({"content": "Hi"}, x_groq={"id": "req_2"}), chunk({"content": "!"}))),
    "groq error": (GROQ, sse({"error": {"message": "No call", "failed_generation": "{", "code": "x"}})),
    "fireworks model": (
        FIREWORKS,
        response(model="accounts/fireworks/models/gpt-oss-20b", choice={"token_ids": IDS}),
    ),
    "fireworks raw": (FIREWORKS, response(choice={"raw_output": {"completion": "Hi"}})),
    "together": (
        TOGETHER,
        sse(chunk({"content": "Hi", "token_id": 12194}), chunk({"content": "!", "token_id": 0})),
    ),
    "cerebras": (CEREBRAS, response(time_info={"queue_time": 0.5}, system_fingerprint="fp_1")),
    "cloudflare": (CLOUDFLARE, response(model="@cf/openai/gpt-oss-20b")),
    "bedrock": (BEDROCK, response(model="openai.gpt-oss-20b-1:0")),
    "sglang": (SGLANG, sse(chunk({"content": "Hi"}, choice={"matched_stop": None}))),
    "sglang ids": (SGLANG, response(choice={"response_token_ids": IDS, "matched_stop": 200002})),
    "llama-server": (LLAMA_CPP, response(timings={"prompt_n": 9})),
    "tensorrt-llm": (
        TENSORRT_LLM,
        response(choice={"stop_reason": None, "avg_decoded_tokens_per_iter": 1.0}),
    ),
    "lmdeploy": (LMDEPLOY, response(choice={"output_ids": IDS})),
    "vllm body": (
        EITHER_VLLM,
        response(choice={"stop_reason": None, "token_ids": None}, prompt_logprobs=None),
    ),
    "vllm ids": (EITHER_VLLM, sse(chunk({"content": "Hi"}, choice={"token_ids": [12194]}))),
    "vllm version": (EITHER_VLLM, sse(chunk({"content": "Hi"}), server_version="0.31.0")),
    "vllm asked": (EITHER_VLLM, sse(chunk({"content": "Hi"}), request={"return_token_ids": True})),
    "vllm event": (EITHER_VLLM, responses({"type": "response.reasoning_part.added", "output_index": 0})),
    "event of several": (UNKNOWN, responses({"type": "response.reasoning_summary_text.delta", "delta": "A"})),
    "asked by a recorder": (
        UNKNOWN,
        sse(chunk({"content": "Hi"}), request={"return_token_ids": True}, started_at="2026-11-25T18:00:00Z"),
    ),
    "nothing": (UNKNOWN, sse(chunk({"content": "Hi"}), model="gpt-oss", request={"messages": []})),
    "another owner": (
        UNKNOWN,
        sse(chunk({"content": "Hi"}), owned_by="x", request={"return_token_ids": True}),
    ),
    "fingerprint of no one": (UNKNOWN, response(system_fingerprint="fp_3", service_tier="default")),
}


@pytest.mark.parametrize(("engine", "capture"), RESPONSES.values(), ids=RESPONSES)
def test_a_response_is_named_by_its_row_and_by_no_other(engine: Engine, capture: Capture) -> None:
    assert inspect(capture).reading.engine is engine


def test_every_row_is_told_by_something() -> None:
    for engine in ENGINES:
        assert engine.owners or engine.members or engine.models or engine.fingerprint
    for gateway in GATEWAYS:
        assert gateway.members


@pytest.mark.parametrize(
    "address", ["https://api.groq.com/openai/v1", "https://eu.api.groq.com", "http://API.groq.com"]
)
def test_an_address_names_a_hosted_service(address: str) -> None:
    assert engine_of(address=address) is GROQ
    assert engine_of(address=address.replace("groq", "not-groq")) is UNKNOWN
    assert engine_of(address="http://localhost:8000/v1") is UNKNOWN


# --- unknown ---


@pytest.mark.parametrize("steps", [LOSS, [("<|channel|>final<|message|>Hi<|return|>", {"tool_calls": []})]])
def test_an_unknown_server_gets_no_issue_release_or_link_of_vllm(steps: Any) -> None:
    of_vllm = {issue.id for issue in catalogue() if issue.sides[0] is Side.SERVER and not issue.engines}
    capture = chat(steps, with_ids=False, usage=90, version=None)
    examined = inspect(capture)
    assert examined.reading.engine is UNKNOWN
    assert examined.findings
    assert not of_vllm & {name for finding in examined.findings for name in finding.known_issues}
    diagnosis = diagnose_capture(examined.findings, examined.reading)
    for advice in diagnosis.advice:
        assert not any(step.upgrade for step in advice.steps)
        assert not any("/vllm/" in link for link in advice.links)
    assert diagnosis.version is None
    assert "vLLM" not in examined.reading.server_label


def test_a_hint_for_an_unknown_server_says_whose_key_it_names() -> None:
    unknown = inspect(chat(LOSS, with_ids=False, version=None)).verdict
    vllm = inspect(chat(LOSS, with_ids=False, version="0.31.0")).verdict
    assert unknown.level is vllm.level is Level.UNKNOWN
    assert "a key of vLLM" in unknown.why
    assert "a key of vLLM" not in vllm.why


# --- a proxy between ---


def lost_through(**choice: Any) -> Inspection:
    capture = response({**MESSAGE, "content": "Four"}, choice={"token_ids": IDS, **choice})
    return inspect(capture)


def test_what_a_proxy_may_have_lost_is_not_the_servers_fault_alone() -> None:
    direct, through_proxy = lost_through(), lost_through(provider_specific_fields={"stop_reason": None})
    assert (direct.reading.gateway, through_proxy.reading.gateway) == (None, LITELLM)
    assert direct.verdict.blame == "The server's fault."
    assert through_proxy.verdict.blame == "The server's or the proxy's fault."
    assert direct.verdict.sentence.startswith("The server lost")
    assert through_proxy.verdict.sentence.startswith("The server or the proxy lost")
    assert "LiteLLM" in through_proxy.verdict.why
    assert (
        [finding.kind for finding in direct.findings]
        == [finding.kind for finding in through_proxy.findings]
        == [Kind.DROPPED]
    )


def test_a_gateway_shows_the_server_behind_it() -> None:
    behind_gateway = response(choice={"provider_specific_fields": {"matched_stop": 200002}})
    assert inspect(behind_gateway).reading.engine is SGLANG
    assert inspect(behind_gateway).reading.gateway is LITELLM
    for provider, engine in (("Cerebras", CEREBRAS), ("Groq", GROQ), ("Nobody AI", UNKNOWN)):
        reading = inspect(response(provider=provider)).reading
        assert (reading.engine, reading.gateway) == (engine, OPENROUTER)
        assert reading.server_label == f"{provider}, through OpenRouter"


def test_a_response_that_agentic_api_stored_names_it() -> None:
    final = {"object": "response", "status": "completed", "output": [], "conversation_id": "conv_1"}
    stored = Event(json.dumps({"type": "response.completed", "response": final}))
    header = Header(endpoint=Endpoint.RESPONSES, request={})
    assert inspect(Capture(header=header, events=[stored])).reading.gateway is AGENTIC_API
    assert inspect(response(conversation_id="conv_1")).reading.gateway is None


def test_a_comment_of_a_stream_names_a_gateway() -> None:
    waiting = sse(chunk({"content": "Hi"}), comments=(" OPENROUTER PROCESSING", "ping"))
    assert inspect(waiting).reading.gateway is OPENROUTER
    assert inspect(sse(chunk({"content": "OPENROUTER PROCESSING"}))).reading.gateway is None


# --- evidence of hosted services ---


@pytest.mark.parametrize(
    "payload",
    [
        {"x_groq": {"debug": {"output_token_ids": IDS}}},
        {"choice": {"raw_output": {"completion_token_ids": IDS}}},
        {"choice": {"raw_output": {"completion_token_ids": IDS}, "token_ids": IDS}},
        {"choice": {"output_ids": IDS}},
        {"choice": {"response_token_ids": IDS}},
    ],
    ids=["groq", "fireworks raw", "fireworks both", "lmdeploy", "sglang"],
)
def test_token_ids_are_read_once_where_a_server_has_them(payload: Mapping[str, Any]) -> None:
    complete, lost = (
        inspect(response(**payload)),
        inspect(response({**MESSAGE, "content": "Four"}, **payload)),
    )
    assert complete.reading.choice.tokens.ids == IDS
    assert complete.reading.choice.evidence is Evidence.TOKEN_IDS
    assert complete.verdict.level is Level.CLEAN
    assert [finding.kind for finding in lost.findings] == [Kind.DROPPED]


def test_ids_at_the_end_of_a_stream_are_compared_with_what_came_before() -> None:
    extension = {"usage": {"completion_tokens": len(IDS)}, "debug": {"output_token_ids": IDS}}
    end = chunk({}, choice={"finish_reason": "stop"}, x_groq=extension)
    capture = sse(chunk({"reasoning": "Two."}), chunk({"content": "Four it is."}), end)
    assert inspect(capture).verdict.level is Level.CLEAN
    assert inspect(capture).reading.stream.counted == len(IDS)


def test_ids_in_an_error_show_what_the_server_could_not_parse() -> None:
    call = encode("<|channel|>commentary to=functions.add <|constrain|>json<|message|>{<|call|>")
    error = {"message": "No JSON", "failed_generation": "{", "debug": {"output_token_ids": call}}
    examined = inspect(sse({"error": error}))
    assert examined.reading.choice.tokens.ids == call
    assert examined.reading.choice.transcript.messages[0].header.recipient == "functions.add"


@pytest.mark.parametrize("count", [None, len(IDS), len(IDS) + 5])
def test_ids_of_delivered_tokens_are_evidence_only_where_they_are_as_many_as_counted(
    count: int | None,
) -> None:
    deltas = [{"token_id": number} for number in IDS]
    deltas[3]["reasoning"] = "Two"  # type: ignore[assignment]
    usage = {} if count is None else {"usage": {"completion_tokens": count}}
    examined = inspect(sse(*(chunk(delta) for delta in deltas), {"choices": [], **usage}))
    assert (examined.reading.choice.evidence is Evidence.LOGPROBS) is (count == len(IDS))


def test_a_list_of_ids_beside_logprobs_is_read_though_its_numbers_have_points() -> None:
    logprobs = {"token_ids": [float(number) for number in IDS], "tokens": ["?"] * len(IDS)}
    usage = {"completion_tokens": len(IDS)}
    examined = inspect(response(choice={"logprobs": logprobs}, usage=usage, model="x"))
    assert examined.reading.choice.tokens.ids == IDS


@pytest.mark.parametrize("place", [None, 1, "x", [], {}, {"debug": 1}, {"debug": {"output_token_ids": {}}}])
def test_a_place_of_ids_without_ids_has_none(place: object) -> None:
    examined = inspect(response(x_groq=place, choice={"raw_output": place}, error=place))
    assert not examined.reading.choice.tokens


def test_each_service_is_asked_for_what_it_has() -> None:
    plain = body(LiveRequest(model="m", prompt="Hi", token_ids=False), GROQ)
    for engine, asked in (
        (GROQ, {"debug": True}),
        (FIREWORKS, {"return_token_ids": True}),
        (UNKNOWN, {"return_token_ids": True}),
        (TOGETHER, {}),
        (CEREBRAS, {}),
    ):
        assert body(LiveRequest(model="m", prompt="Hi"), engine) == {**plain, **asked}


def test_a_client_of_the_proxy_does_not_get_the_ids_that_it_did_not_ask_for() -> None:
    asked = {"id": "req_1", "debug": {"output_token_ids": [1]}, "usage": {"completion_tokens": 1}}
    without = {key: value for key, value in asked.items() if key != "debug"}
    members = GROQ.evidence_members
    raw = json.dumps({"choices": [], "x_groq": asked}).encode()
    assert json.loads(body_without_ids(raw, members=members)) == {"choices": [], "x_groq": without}
    rewriter = EventRewriter(keeps_logprobs=True, members=members)
    event = rewriter.receive(b"data: " + raw + b"\n\n")
    assert json.loads(event.removeprefix(b"data: ")) == {"choices": [], "x_groq": without}
    error = json.dumps({"error": {"message": "m", "debug": {"output_token_ids": [1]}}}).encode()
    assert json.loads(body_without_ids(error, members=members)) == {"error": {"message": "m"}}


def test_the_servers_that_are_told_by_a_model_list_are_told_by_nothing_else_first() -> None:
    capture = RESPONSES["groq chunk"][1]
    owned = replace(capture, header=replace(capture.header, owned_by="vllm"))
    assert inspect(owned).reading.engine.program == "vllm"
