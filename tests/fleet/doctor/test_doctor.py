"""The checks of a server: what each sees, and what it says to change."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from inspector.fleet.doctor import Check, CheckState, Checkup, check_server
from inspector.lab.process import free_port
from inspector.net.client.address import Server
from inspector.protocol.harmony.vocab import encode
from tests.support.raw_server import Answer, Asked, page, raw_server, sse, stream
from tests.support.streams import Step, chat

THINK: Step = ("<|channel|>analysis<|message|>", {})
WHOLE: list[Step] = [
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
    kept = chat(steps, with_ids=with_ids, usage=usage)
    return stream([sse(event.data) for event in kept.events])


def refused(words: str, status: int = 400) -> Iterable[bytes]:
    return [page(status, json.dumps({"error": {"message": words}}), "application/json")]


def examined(
    *,
    text: Sequence[Step] | None = None,
    tool: Sequence[Step] | Iterable[bytes] | None = None,
    forced: Sequence[Step] | Iterable[bytes] | None = None,
    with_ids: bool = True,
    more: Mapping[str, Answer] | None = None,
    version: str = "0.32.0",
    model: str | None = None,
    names: Sequence[str] = ("openai/gpt-oss-20b",),
    owner: str | None = "vllm",
    usage: int | None = None,
) -> Checkup:
    """Check a raw server; `tool` is what it sends for `tool_choice: auto`, `forced` for `required`."""
    card = {} if owner is None else {"owned_by": owner}
    models = json.dumps({"data": [{"id": name, **card} for name in names]})

    def answer(asked: Asked) -> Iterable[bytes]:
        if "tools" not in asked.body:
            return streamed(text or WHOLE, with_ids=with_ids, usage=usage)
        sent = {"auto": tool, "required": forced or tool}[asked.body["tool_choice"]]
        if isinstance(sent, list) and sent and isinstance(sent[0], bytes):
            return sent
        return streamed(sent or CALL, with_ids=with_ids)  # type: ignore[arg-type]

    told: dict[str, Answer] = {
        "/v1/models": lambda _: [page(200, models, "application/json")],
        "/version": lambda _: [page(200, json.dumps({"version": version}), "application/json")],
        "/v1/chat/completions": answer,
        **(more or {}),
    }
    with raw_server(told) as server:
        return check_server(Server(base_url=server.v1), model=model)


def check(found: Checkup, name: str) -> Check:
    return next(one for one in found.checks if one.name == name)


def test_a_server_that_is_set_up_right_has_no_failed_check() -> None:
    found = examined()
    assert {one.name: one.state for one in found.checks} == {
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
    }
    assert (found.version, found.model) == ("0.32.0", "openai/gpt-oss-20b")
    assert found.sentence == "12 of 12 checks passed; unknown: responses."


def test_nobody_there() -> None:
    found = check_server(Server(base_url=f"http://127.0.0.1:{free_port()}"))
    [only] = found.checks
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
            {"text": [*WHOLE[:1], ("17 times 3", {"content": "17 times 3"}), *WHOLE[2:]]},
            "reasoning",
            CheckState.FAILED,
            "--reasoning-parser openai_gptoss",
        ),
        (
            {"text": [*WHOLE[:1], ("17 times 3", {}), *WHOLE[2:]]},
            "reasoning",
            CheckState.FAILED,
            "--reasoning-parser openai_gptoss",
        ),
        (
            {"text": [*WHOLE, ("<|start|>user<|message|>More", {})]},
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
        ({"tool": WHOLE}, "tool calls", CheckState.UNKNOWN, ""),
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
    found = check(examined(**changes), name)
    assert found.state is state, found
    assert change in found.change


def test_a_server_without_tool_parser_is_told_the_flags() -> None:
    words = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    found = check(examined(tool=list(refused(words))), "tool calls")
    assert found.state is CheckState.FAILED
    assert found.change == "Start vLLM with --enable-auto-tool-choice --tool-call-parser openai."


def test_a_request_that_fails_is_not_laid_to_flags_or_to_the_version() -> None:
    more = {"/v1/chat/completions": lambda _: refused("The model `other` does not exist.", 404)}
    found = examined(model="other", more=more)
    assert (
        check(found, "chat").change
        == "Request $URL/models and use the model ID that it shows (model-name-unknown)."
    )
    for name in ("token ids", "tool calls"):
        assert check(found, name).state is CheckState.UNKNOWN
        assert check(found, name).change == ""


@pytest.mark.parametrize(
    ("owner", "state", "says"),
    [
        ("vllm", CheckState.OK, "vLLM's Python front end answers (owned_by: vllm)."),
        ("vllm-frontend-rs", CheckState.OK, "vLLM's Rust front end answers (owned_by: vllm-frontend-rs)."),
        ("a-proxy", CheckState.UNKNOWN, "names no known server (owned_by: a-proxy)"),
        (None, CheckState.UNKNOWN, "does not say who answers"),
    ],
)
def test_the_front_end_that_answers_is_named(owner: str | None, state: CheckState, says: str) -> None:
    found = check(examined(owner=owner), "front end")
    assert found.state is state
    assert says in found.says


def test_a_call_is_forced_when_the_model_makes_none_by_itself() -> None:
    found = examined(tool=WHOLE, forced=CALL, version="0.20.0")
    assert check(found, "tool calls").state is CheckState.OK
    assert "tool-choice-required-ignored" not in ids(found)
    ignored = examined(tool=WHOLE, version="0.20.0")
    assert check(ignored, "tool calls").says.endswith("not even with tool_choice: required.")
    assert "tool-choice-required-ignored" in ids(ignored)


def test_a_server_that_takes_no_forced_call_is_not_blamed_for_a_model_that_makes_none() -> None:
    found = check(examined(tool=WHOLE, forced=list(refused("only auto is supported"))), "tool calls")
    assert found.state is CheckState.UNKNOWN
    assert "only auto is supported" in found.says


def ids(found: Checkup) -> list[str]:
    return [one.id for one in found.faults]


def test_known_faults_are_counted_apart_from_the_checks() -> None:
    found = examined(version="0.13.0")
    assert any("Upgrade to vLLM" in one.step for one in found.faults)
    assert found.faults_sentence == (
        f"vLLM 0.13.0 has {len(found.faults)} known faults that these checks do not test."
    )
    assert not {"known fault", *ids(found)} & {one.name for one in found.checks}
    none = examined(version="not a version")
    assert (none.faults, none.faults_sentence) == ((), "")


def test_faults_that_the_checks_disprove_are_left_out() -> None:
    answered = examined(version="0.12.0", usage=len(encode("".join(text for text, _ in WHOLE))))
    assert not {"vocab-download", "chat-ids-left-out", "responses-stream-events"} & set(ids(answered))
    uncounted = examined(version="0.12.0")
    assert "chat-ids-left-out" in ids(uncounted)
    silent = {
        "/v1/chat/completions": lambda _: refused("no", 500),
        "/v1/responses": lambda _: refused("no", 500),
    }
    assert {"vocab-download", "responses-stream-events"} <= set(ids(examined(version="0.12.0", more=silent)))
