"""The checks of a server: what each sees, and what it says to change."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from inspector.fleet.doctor import Check, CheckState, Checkup, check_server
from inspector.net.client.address import Server
from inspector.protocol.harmony.vocab import encode
from tests.support.listening import free_port
from tests.support.raw_server import Answer, RawRequest, page, raw_server, sse, stream
from tests.support.streams import Step, chat

THINK: Step = ("<|channel|>analysis<|message|>", {})
COMPLETE_STEPS: list[Step] = [
    THINK,
    ("17 times 3", {"reasoning": "17 times 3"}),
    ("<|end|><|start|>assistant<|channel|>final<|message|>", {}),
    ("It is 51.", {"content": "It is 51."}),
    ("<|return|>", {}),
]
ARGUMENTS = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
CALL: list[Step] = [
    ("<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>", {}),
    ('{"city": "Paris"}', {"tool_calls": [{"index": 0, "function": ARGUMENTS}]}),
    ("<|call|>", {}),
]


def streamed(steps: Sequence[Step], *, with_ids: bool = True, usage: int | None = None) -> Iterable[bytes]:
    capture = chat(steps, with_ids=with_ids, usage=usage)
    return stream([sse(event.data) for event in capture.events])


def refused(words: str, status: int = 400) -> Iterable[bytes]:
    return [page(status, json.dumps({"error": {"message": words}}), "application/json")]


def examined(
    *,
    text: Sequence[Step] | None = None,
    tool: Sequence[Step] | Iterable[bytes] | None = None,
    forced: Sequence[Step] | Iterable[bytes] | None = None,
    with_ids: bool = True,
    more_answers: Mapping[str, Answer] | None = None,
    version: str = "0.32.0",
    model: str | None = None,
    names: Sequence[str] = ("openai/gpt-oss-20b",),
    owner: str | None = "vllm",
    usage: int | None = None,
) -> Checkup:
    """Check a raw server; `tool` is what it sends for `tool_choice: auto`, `forced` for `required`."""
    card = {} if owner is None else {"owned_by": owner}
    models = json.dumps({"data": [{"id": name, **card} for name in names]})

    def answer(request: RawRequest) -> Iterable[bytes]:
        if "tools" not in request.body:
            return streamed(text or COMPLETE_STEPS, with_ids=with_ids, usage=usage)
        sent = {"auto": tool, "required": forced or tool}[request.body["tool_choice"]]
        if isinstance(sent, list) and sent and isinstance(sent[0], bytes):
            return sent
        return streamed(sent or CALL, with_ids=with_ids)  # type: ignore[arg-type]

    answers: dict[str, Answer] = {
        "/v1/models": lambda _: [page(200, models, "application/json")],
        "/version": lambda _: [page(200, json.dumps({"version": version}), "application/json")],
        "/v1/chat/completions": answer,
        **(more_answers or {}),
    }
    with raw_server(answers) as server:
        return check_server(Server(base_url=server.v1), model=model)


def check(checkup: Checkup, name: str) -> Check:
    return next(check for check in checkup.checks if check.name == name)


def test_a_proxy_of_the_environment_is_asked_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("no_proxy", "")
    assert check(examined(), "reachable").state is CheckState.OK


def test_a_redirect_to_another_address_is_said_and_not_followed() -> None:
    with raw_server({}) as elsewhere:
        location = f"location: {elsewhere.v1}/models\r\n"
        moved: dict[str, Answer] = {"/v1/models": lambda _: [page(302, "", "text/plain", extra=location)]}
        reachable = check(examined(more_answers=moved), "reachable")
        assert reachable.state is CheckState.FAILED
        assert f"redirects to another address ({elsewhere.address})" in reachable.says
        assert elsewhere.asked == []


def test_a_server_that_is_set_up_right_has_no_failed_check() -> None:
    checkup = examined()
    assert {check.name: check.state for check in checkup.checks} == {
        "reachable": CheckState.OK,
        "health": CheckState.OK,
        "version": CheckState.OK,
        "front end": CheckState.OK,
        "models": CheckState.OK,
        "chat": CheckState.OK,
        "token ids": CheckState.OK,
        "harmony": CheckState.OK,
        "reasoning": CheckState.OK,
        "stop tokens": CheckState.OK,
        "tokens per event": CheckState.OK,
        "tool calls": CheckState.OK,
        "responses": CheckState.UNKNOWN,
        "messages": CheckState.UNKNOWN,
    }
    assert (checkup.version, checkup.model) == ("0.32.0", "openai/gpt-oss-20b")
    assert checkup.sentence == "12 of 12 checks passed; unknown: responses, messages."


def test_nobody_there() -> None:
    checkup = check_server(Server(base_url=f"http://127.0.0.1:{free_port()}"))
    [only] = checkup.checks
    assert only.state is CheckState.FAILED
    assert "connection refused" in only.says


@pytest.mark.parametrize(
    ("changes", "name", "state", "change"),
    [
        ({"with_ids": False}, "token ids", CheckState.FAILED, "send it to the server itself"),
        (
            {"text": [("Hello", {"content": "Hello"})]},
            "harmony",
            CheckState.FAILED,
            '"model_type": "gpt_oss"',
        ),
        (
            {"text": [*COMPLETE_STEPS[:1], ("17 times 3", {"content": "17 times 3"}), *COMPLETE_STEPS[2:]]},
            "reasoning",
            CheckState.FAILED,
            "--reasoning-parser openai_gptoss",
        ),
        (
            {"text": [*COMPLETE_STEPS[:1], ("17 times 3", {}), *COMPLETE_STEPS[2:]]},
            "reasoning",
            CheckState.FAILED,
            "--reasoning-parser openai_gptoss",
        ),
        (
            {"text": [*COMPLETE_STEPS, ("<|start|>user<|message|>More", {})]},
            "stop tokens",
            CheckState.FAILED,
            '"eos_token_id": [200002, 199999, 200012]',
        ),
        (
            {"tool": [CALL[0], (CALL[1][0], {"content": CALL[1][0]}), CALL[2]]},
            "tool calls",
            CheckState.FAILED,
            "--enable-auto-tool-choice --tool-call-parser openai",
        ),
        ({"tool": COMPLETE_STEPS}, "tool calls", CheckState.UNKNOWN, ""),
        ({"version": "0.13.0"}, "tokens per event", CheckState.WARNING, "--stream-interval 1"),
        ({"names": ["llama"]}, "models", CheckState.WARNING, "--model"),
        ({"model": "other"}, "models", CheckState.FAILED, "openai/gpt-oss-20b"),
        ({"names": []}, "models", CheckState.FAILED, "vllm serve openai/gpt-oss-20b"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_fault_is_seen_and_says_what_to_change(
    changes: dict[str, Any], name: str, state: CheckState, change: str
) -> None:
    result = check(examined(**changes), name)
    assert result.state is state, result
    assert change in result.change


def test_a_server_without_tool_parser_is_told_the_flags() -> None:
    words = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    result = check(examined(tool=list(refused(words))), "tool calls")
    assert result.state is CheckState.FAILED
    assert result.change == "Start vLLM with --enable-auto-tool-choice --tool-call-parser openai."


def test_a_request_that_fails_is_not_laid_to_flags_or_to_the_version() -> None:
    answers = {"/v1/chat/completions": lambda _: refused("The model `other` does not exist.", 404)}
    checkup = examined(model="other", more_answers=answers)
    assert (
        check(checkup, "chat").change
        == "Request $URL/models and use the model ID that it shows (model-name-unknown)."
    )
    for name in ("token ids", "tool calls"):
        assert check(checkup, name).state is CheckState.UNKNOWN
        assert check(checkup, name).change == ""


@pytest.mark.parametrize(
    ("owner", "state", "sentence"),
    [
        ("vllm", CheckState.OK, "vLLM's Python front end answers (owned_by: vllm)."),
        ("vllm-frontend-rs", CheckState.OK, "vLLM's Rust front end answers (owned_by: vllm-frontend-rs)."),
        ("a-proxy", CheckState.UNKNOWN, "names no known server (owned_by: a-proxy)"),
        (None, CheckState.UNKNOWN, "does not say who answers"),
    ],
)
def test_the_front_end_that_answers_is_named(owner: str | None, state: CheckState, sentence: str) -> None:
    result = check(examined(owner=owner), "front end")
    assert result.state is state
    assert sentence in result.says


def test_a_call_is_forced_when_the_model_makes_none_by_itself() -> None:
    checkup = examined(tool=COMPLETE_STEPS, forced=CALL, version="0.20.0")
    assert check(checkup, "tool calls").state is CheckState.OK
    assert "tool-choice-required-ignored" not in ids(checkup)
    ignored = examined(tool=COMPLETE_STEPS, version="0.20.0")
    assert check(ignored, "tool calls").says.endswith("not even with tool_choice: required.")
    assert "tool-choice-required-ignored" in ids(ignored)


def test_a_server_that_takes_no_forced_call_is_not_blamed_for_a_model_that_makes_none() -> None:
    result = check(
        examined(tool=COMPLETE_STEPS, forced=list(refused("only auto is supported"))), "tool calls"
    )
    assert result.state is CheckState.UNKNOWN
    assert "only auto is supported" in result.says


def ids(checkup: Checkup) -> list[str]:
    return [fault.id for fault in checkup.faults]


def test_known_faults_are_counted_apart_from_the_checks() -> None:
    checkup = examined(version="0.13.0")
    assert any("Upgrade to vLLM" in fault.step for fault in checkup.faults)
    assert checkup.faults_sentence == (
        f"vLLM 0.13.0 has {len(checkup.faults)} known faults that these checks do not test."
    )
    assert not {"known fault", *ids(checkup)} & {check.name for check in checkup.checks}
    none = examined(version="not a version")
    assert (none.faults, none.faults_sentence) == ((), "")


def test_faults_that_the_checks_disprove_are_left_out() -> None:
    answered = examined(version="0.12.0", usage=len(encode("".join(text for text, _ in COMPLETE_STEPS))))
    assert not {"vocab-download", "chat-ids-left-out", "responses-stream-events"} & set(ids(answered))
    uncounted = examined(version="0.12.0")
    assert "chat-ids-left-out" in ids(uncounted)
    silent = {
        "/v1/chat/completions": lambda _: refused("no", 500),
        "/v1/responses": lambda _: refused("no", 500),
    }
    assert {"vocab-download", "responses-stream-events"} <= set(
        ids(examined(version="0.12.0", more_answers=silent))
    )
