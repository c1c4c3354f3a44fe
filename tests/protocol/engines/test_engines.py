"""The table of engines: each row tells itself apart, and what a reading says follows from its engine."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from inspector.analysis.audit import Code, Kind, Severity
from inspector.analysis.reading import Reading, read
from inspector.capture.capture import Capture, Endpoint, Event, EventKind, Header, parse, render
from inspector.fleet.doctor import CheckState, check_server
from inspector.inspection.inspection import Inspection, inspect
from inspector.issues import catalogue
from inspector.issues.texts.diagnose import diagnose_text
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest, body
from inspector.net.client.server_info import owner_in
from inspector.protocol.engines import (
    ENGINES,
    EXTENSIONS,
    GATEWAYS,
    UNKNOWN,
    Engine,
    engine_of,
    versions_in,
)
from inspector.protocol.engines.desktop import OLLAMA
from inspector.protocol.engines.dynamo import DYNAMO
from inspector.protocol.engines.hosted import GROQ
from inspector.protocol.engines.llama_cpp import LLAMA_CPP
from inspector.protocol.engines.sglang import SGLANG
from inspector.protocol.engines.vllm import VLLM
from inspector.protocol.engines.vllm_rust import VLLM_RUST
from inspector.protocol.wire.chat import ChatReader
from inspector.protocol.wire.endpoints import ASKED, spec_of
from inspector.protocol.wire.stream import Stream
from inspector.views.audit_result import AuditResult
from tests.support.raw_server import page, raw_server, sse, stream
from tests.support.streams import CLOSED, Step, aborted, chat, chat_chunk

OWNER = "vllm-frontend-rs"
TWO_ANALYSES: list[Step] = [
    ("<|channel|>analysis<|message|>", {}),
    ("First.", {"reasoning": "First."}),
    ("<|end|><|start|>assistant<|channel|>analysis<|message|>", {}),
    ("Second.", {"reasoning": "\nSecond."}),
    ("<|end|><|start|>assistant<|channel|>final<|message|>", {}),
    ("Done.", {"content": "Done."}),
    ("<|return|>", {}),
]
"""Two messages of one kind, with the line feed that the Rust front end puts between them."""


def owned(capture: Capture, owner: str | None = OWNER) -> Capture:
    return replace(capture, header=replace(capture.header, owned_by=owner))


def reading(capture: Capture) -> Reading:
    return read(capture)


def inspected(steps: list[Step], owner: str | None = OWNER, **options: Any) -> Inspection:
    return inspect(owned(chat(steps, version="0.33.0", counted=True, **options), owner))


def test_rows_share_nothing_that_tells_them_apart() -> None:
    for signs in (
        [engine.name for engine in ENGINES],
        [engine.label for engine in ENGINES],
        [engine.program for engine in ENGINES if engine.program],
        [member for row in (*ENGINES, *GATEWAYS) for member in row.members],
        [owner for engine in ENGINES for owner in engine.owners],
    ):
        assert len(set(signs)) == len(signs)
    for engine in ENGINES:
        assert engine.lacks.keys() < {spec.endpoint for spec in ASKED}
        assert all(engine_of(owned_by=owner) is engine for owner in engine.owners)


def test_the_owner_of_the_model_comes_before_the_fingerprint_and_nothing_means_unknown() -> None:
    of_vllm = Stream(fingerprint="vllm-0.33.0-tp1")
    assert engine_of(owned_by=OWNER, stream=of_vllm) is VLLM_RUST
    assert engine_of(owned_by="somebody", stream=of_vllm) is VLLM
    assert engine_of(owned_by="somebody", stream=Stream(fingerprint="fp_1")) is engine_of() is UNKNOWN
    assert VLLM.version_of("vllm-0.33.0-tp1") == "0.33.0"
    assert VLLM.version_of("vllm-") is VLLM.version_of(None) is VLLM_RUST.version_of("vllm-0.33.0") is None


@pytest.mark.parametrize(
    ("models", "owner"),
    [
        ({"data": [{"id": "a", "owned_by": "x"}, {"id": "m", "owned_by": "y"}]}, "y"),
        ({"data": [{"id": "a", "owned_by": "x"}]}, "x"),
        ({"data": [{"id": "m", "owned_by": 1}]}, None),
        ({"data": [{"id": "m"}, 3]}, None),
        ({"data": []}, None),
        ({"data": "m"}, None),
        ([], None),
        (None, None),
    ],
)
def test_whatever_a_model_list_says_its_owner_is_a_text_or_unknown(models: object, owner: str | None) -> None:
    assert owner_in(models, "m") == owner


def test_a_capture_keeps_the_owner_and_its_reading_names_the_front_end() -> None:
    capture = owned(chat(TWO_ANALYSES, version="0.33.0"))
    reloaded = parse(list(render(capture)), "kept")
    assert reloaded.header.owned_by == OWNER
    assert reading(reloaded).engine is VLLM_RUST
    assert reading(reloaded).server_label == "vLLM (Rust front end) 0.33.0"
    assert reading(owned(chat(TWO_ANALYSES, version=None), None)).server_label == "vLLM, version unknown"


def test_a_release_is_compared_by_its_number_whatever_follows_it() -> None:
    assert VLLM.reached("0.13.0rc2.dev12+gabc", "0.13") is True
    assert VLLM.reached("0.12.9", "0.13") is False
    assert VLLM.reached("v0.10.2", "0.10.2") is True
    assert VLLM.reached("playback", "0.13") is VLLM.reached(None, "0.13") is None
    assert VLLM.reached(None, "") is True, "every release"


def test_hints_name_the_key_and_the_release_of_the_engine() -> None:
    chat_spec = spec_of(Endpoint.CHAT)
    assert VLLM.evidence_hint(chat_spec) == (
        "To find out, send `return_token_ids: true` with the request (vLLM 0.13 or newer)."
    )
    assert (
        VLLM_RUST.evidence_hint(chat_spec) == "To find out, send `return_token_ids: true` with the request."
    )
    assert VLLM.evidence_hint(spec_of(Endpoint.TOKENS)) == "The file holds no token IDs."
    assert VLLM_RUST.ids_hint() == "To get them, send return_token_ids: true (chat and completions)."


@pytest.mark.parametrize(
    ("version", "named"), [(None, True), ("0.12.0", True), ("0.13.0", False), ("0.33.0", False)]
)
@pytest.mark.parametrize("asked", [True, False])
def test_a_hint_names_no_release_that_is_reached_and_no_key_that_was_sent(
    version: str | None, named: bool, asked: bool
) -> None:
    hint = VLLM.evidence_hint(spec_of(Endpoint.CHAT), requested=asked, version=version)
    assert ("0.13 or newer" in hint) is named
    assert ("send `return_token_ids" in hint) is not asked


@pytest.mark.parametrize(
    ("engine", "asked"),
    [
        (VLLM, {"return_token_ids": True}),
        (SGLANG, {"return_output_ids_in_sglext": True}),
        (DYNAMO, {"nvext": {"extra_fields": ["completion_token_ids"]}}),
        (LLAMA_CPP, {}),
        (OLLAMA, {}),
    ],
)
def test_a_request_asks_each_server_for_what_it_has(engine: Engine, asked: Mapping[str, Any]) -> None:
    plain = body(LiveRequest(model="m", prompt="Hi", token_ids=False), engine)
    assert body(LiveRequest(model="m", prompt="Hi"), engine) == {**plain, **asked}


@pytest.mark.parametrize("engine", [OLLAMA, LLAMA_CPP])
def test_a_server_without_ids_in_a_stream_is_asked_for_none(engine: Engine) -> None:
    assert engine.no_ids
    assert engine.ids_hint() == engine.evidence_hint(spec_of(Endpoint.CHAT)) == engine.no_ids


def test_a_request_for_ids_that_the_rust_server_of_sglang_ignores_says_what_helps() -> None:
    assert "logprobs" in SGLANG.evidence_hint(spec_of(Endpoint.CHAT), requested=True)
    assert "return_token_ids" in SGLANG.ids_hint()


@pytest.mark.parametrize("extension", [{}, {"output_ids": []}, {"output_ids": "1"}, 1])
def test_an_extension_without_ids_has_none(extension: object) -> None:
    stream = Stream(extensions=EXTENSIONS)
    payload = {"choices": [], "sglext": extension, "nvext": extension, "__verbose": extension}
    ChatReader(stream).receive([Event(json.dumps(payload))])
    assert not any(choice.tokens for choice in stream.choices.values())


def test_ids_at_the_end_of_a_stream_are_read() -> None:
    stream = Stream(extensions=EXTENSIONS)
    chunks = [
        chat_chunk(None, {"content": "Hi"}),
        '{"choices": [], "sglext": {"output_ids": [[200005, 17196], [1]]}}',
    ]
    ChatReader(stream).receive([Event(chunk) for chunk in chunks])
    assert (stream.choice(0).tokens.ids, stream.choice(0).tokens.events) == ([200005, 17196], [1, 1])


@pytest.mark.parametrize(
    ("payload", "engine"),
    [
        ({"nvext": {"completion_token_ids": [200005]}}, DYNAMO),
        ({"nvext": {"worker_id": {}}}, DYNAMO),
        ({"sglext": {"output_ids": [[200005]]}}, SGLANG),
        ({"choices": [{"index": 0, "response_token_ids": [200005]}]}, SGLANG),
        ({"__verbose": {"tokens": [200005]}}, LLAMA_CPP),
        ({"nvext_of_another": {"completion_token_ids": [200005]}}, VLLM),
    ],
)
def test_a_place_of_token_ids_names_the_server_that_alone_has_it(
    payload: Mapping[str, Any], engine: Engine
) -> None:
    text = json.dumps({"choices": [], "system_fingerprint": "vllm-0.33.0", **payload})
    events = [Event(text, kind=EventKind.BODY)]
    capture = Capture(header=Header(endpoint=Endpoint.CHAT), events=events, end=CLOSED)
    response = read(capture)
    assert reading(owned(capture)).engine is VLLM_RUST, "the model list comes first"
    assert response.engine is engine
    assert response.choice.tokens.ids == ([] if engine is VLLM or "worker_id" in text else [200005])


# --- the Rust front end, by the facts measured on 0.33.0 ---


def test_a_line_feed_between_messages_of_one_field_is_the_rust_front_ends_contract() -> None:
    python = inspected(TWO_ANALYSES, owner="vllm")
    assert [finding.kind for finding in python.findings] == [Kind.DUPLICATED], "there nobody promises it"
    for owner in (OWNER, None):  # without an owner it may be the Rust front end
        rust = inspected(TWO_ANALYSES, owner=owner)
        generated, delivered = rust.reading.choice.generated(), rust.reading.choice.delivered()
        assert generated is not None
        assert (generated.reasoning, delivered.reasoning) == ("First.Second.", "First.\nSecond.")
        (added,) = rust.findings
        assert (added.kind, added.code, added.severity) == (
            Kind.ADDED,
            Code.SEPARATOR_ADDED,
            Severity.WARNING,
        )
        assert (added.field, added.delivered, added.known_issues) == (
            "reasoning",
            "\n",
            ("rust-line-feed-between-messages",),
        )
        assert rust.verdict.why.startswith("Nothing was lost.")
        rows = AuditResult(rust).fields
        assert {row.state.equal for row in rows} == {True}
        assert [row.state for row in rows] == ["separator added by the server", "equal"]


def test_a_line_feed_that_separates_nothing_is_a_finding_there_too() -> None:
    steps = [*TWO_ANALYSES[:-1], ("<|return|>", {"content": "\n"})]
    assert [(finding.kind, finding.field) for finding in inspected(steps).findings] == [
        (Kind.DUPLICATED, "content"),
        (Kind.ADDED, "reasoning"),
    ]


def test_a_recipient_on_the_final_channel_makes_no_call_there() -> None:
    steps: list[Step] = [
        ("<|channel|>final to=functions.f<|message|>", {}),
        ("Yes.", {"content": "Yes."}),
        ("<|return|>", {}),
    ]
    for owner in ("vllm-frontend-rs", "vllm"):
        (finding,) = inspected(steps, owner=owner).findings
        assert (finding.code, finding.kind) == (Code.CALL_AS_TEXT, Kind.MISROUTED)


def test_a_call_without_arguments_is_lost_there_and_no_flag_is_blamed() -> None:
    steps: list[Step] = [("<|channel|>commentary to=functions.f<|message|>", {}), ("<|call|>", {})]
    rust, python = inspected(steps, finish="tool_calls"), inspected(steps, owner="vllm", finish="tool_calls")
    assert (
        [finding.kind for finding in rust.findings]
        == [finding.kind for finding in python.findings]
        == [Kind.DROPPED]
    )
    assert "tool-parser-flags-missing" in python.findings[0].known_issues
    assert rust.findings[0].known_issues == ("rust-call-without-arguments",)
    assert "rust-call-without-arguments" not in python.findings[0].known_issues


def test_a_call_with_arguments_that_is_lost_there_is_another_matter() -> None:
    steps: list[Step] = [("<|channel|>commentary to=functions.f<|message|>{}", {}), ("<|call|>", {})]
    (lost,) = inspected(steps, finish="tool_calls").findings
    assert (lost.code, lost.generated) == (Code.CALL_LOST, "{}")
    assert "rust-call-without-arguments" not in lost.known_issues


def test_the_token_that_it_rejects_is_placed_after_the_stream() -> None:
    words = "Unexpected token 12606 while expecting start token 200006"
    sent = "<|channel|>analysis<|message|>Thinking<|end|>"
    rust = inspect(owned(aborted([sent], words, version="0.33.0")))
    (rejected,) = [finding for finding in rust.findings if finding.kind is Kind.UNEXPECTED_TOKEN]
    assert (rejected.sent, rejected.token_start) == (False, len(rust.reading.choice.tokens))


def test_an_issue_of_the_python_front_end_is_not_named_for_the_rust_one() -> None:
    steps: list[Step] = [
        ("<|channel|>analysis<|message|>", {}),
        ("Need", {"reasoning": "Need"}),
        (" weather.<|end|><|start|>", {}),
        ("assistant<|channel|>final<|message|>", {}),
        ("Hi<|return|>", {"content": "Hi"}),
    ]
    python_only = {issue.id for issue in catalogue() if issue.affected.get("vllm") and not issue.tokens}
    named = {
        owner: {
            name
            for finding in inspect(owned(chat(steps, version="0.13.0"), owner)).findings
            for name in finding.known_issues
        }
        for owner in ("vllm", OWNER)
    }
    assert named["vllm"] & python_only
    assert not named[OWNER] & python_only


def test_doctor_tells_the_rust_front_end_and_asks_it_for_no_responses() -> None:
    asked: list[str] = []

    def answer(request: Any) -> Any:
        asked.append("chat")
        return stream([sse(event.data) for event in chat(TWO_ANALYSES, version=None).events])

    models = json.dumps({"data": [{"id": "openai/gpt-oss-20b", "owned_by": OWNER}]})
    routes = {
        "/v1/models": lambda _: [page(200, models, "application/json")],
        "/version": lambda _: [page(200, '{"version": "0.33.0"}', "application/json")],
        "/health": lambda _: [page(200, "", "text/plain")],
        "/v1/chat/completions": answer,
    }
    with raw_server(routes) as server:
        checkup = check_server(Server(base_url=server.address))
    checks = {check.name: check for check in checkup.checks}
    assert checkup.engine is VLLM_RUST
    assert checks["front end"].says == "vLLM's Rust front end answers (owned_by: vllm-frontend-rs)."
    assert [fault.id for fault in checkup.faults] == [
        "rust-call-without-arguments",
        "rust-line-feed-between-messages",
    ]
    assert checks["responses"].state is CheckState.UNKNOWN
    assert "no Responses endpoint" in checks["responses"].says
    assert not any(
        "vllm serve" in check.change or "--tool-call-parser" in check.change for check in checkup.checks
    )


def test_a_log_names_its_version_by_the_words_of_its_engine() -> None:
    diagnosis = diagnose_text("INFO 11-20 22:47:00 [api_server.py:1] vLLM API server version 0.14.1\n")
    assert (diagnosis.version, diagnosis.server) == ("0.14.1", "vLLM")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("after upgrading to vLLM 0.33 it fails", "0.33"),
        ("vllm==0.32, gpt-oss", "0.32"),
        ("vllm 0.12. It fails", "0.12"),
        ("vLLM 0.14.1 is old", "0.14.1"),
        ("vLLM 0.6B", None),
        ("vLLM 0.20% slower", None),
        ("vllm 0.95", None),
        ("vllm 0.12 seconds per request", None),
        ("vLLM: 0.12 s/it", None),
        ("| vllm | 0.12 | 0.30 |", None),
        ("| vllm | 0.12.0 |", "0.12.0"),
    ],
)
def test_a_minor_release_in_a_sentence_is_a_version(text: str, version: str | None) -> None:
    assert next((version_found for version_found, _ in versions_in(text)), None) == version


def test_where_an_endpoint_has_no_ids_another_is_named() -> None:
    hint = GROQ.asking(spec_of(Endpoint.RESPONSES))
    assert hint == "Token IDs would show it. To get them, send debug: true (chat)."
