from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.analysis.audit import Kind
from inspector.files.store import builtin, load
from inspector.inspection.inspection import inspect
from inspector.protocol.harmony.vocab import encode
from inspector.views.report import minimal, refusal, reproduce
from tests.support.streams import GOOD, LOSS, Step, chat


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("chat-unexpected-token-swallowed-vllm-0.32.0", Kind.UNEXPECTED_TOKEN, "<|message|><|end|>comment"),
        (
            "completions-unexpected-token-200002-vllm-0.13.0",
            Kind.UNEXPECTED_TOKEN,
            "<|message|><|end|><|return|>",
        ),
        (
            "chat-unknown-role-swallowed-vllm-0.32.0",
            Kind.BAD_HEADER,
            "<|start|>assistantary<|channel|>final<|message|>",
        ),
    ],
)
def test_what_the_judge_refuses_shrinks_to_a_few_tokens(name: str, kind: Kind, text: str) -> None:
    (path,) = [one.path for one in builtin() if one.name == name]
    seen = inspect(load(path)[0])
    (finding,) = [one for one in seen.findings if one.kind is kind]
    shown = reproduce(seen.reading.choice, finding)
    assert shown is not None
    assert (shown.ids, shown.shrunk, shown.by_parser) == (encode(text), True, True)
    assert refusal(shown.ids) == shown.says == finding.delivered


HARMONY = st.lists(
    st.sampled_from(
        encode(
            "<|start|><|end|><|message|><|channel|><|return|><|call|><|constrain|>assistant analysis user Hi"
        )
    ),
    max_size=30,
)


@settings(deadline=None, max_examples=200)
@given(ids=HARMONY)
def test_a_minimal_list_fails_alike_and_no_token_can_go(ids: list[int]) -> None:
    words = refusal(ids)
    if words is None:
        return

    def fails(some: Sequence[int]) -> bool:
        return refusal(some) == words

    shown, shrunk = minimal(ids, fails)
    assert shrunk
    assert fails(shown)
    assert len(shown) == 1 or not any(fails(shown[:at] + shown[at + 1 :]) for at in range(len(shown)))


def test_thousands_of_messages_shrink_in_bounded_work() -> None:
    message = encode("<|start|>assistant<|channel|>analysis<|message|>word after word<|end|>")
    ids = message * (20_000 // len(message)) + encode("<|return|>")
    words = refusal(ids)
    judged = 0

    def fails(some: Sequence[int]) -> bool:
        nonlocal judged
        judged += len(some)
        return refusal(some) == words

    assert minimal(ids, fails) == (encode("<|message|><|end|><|return|>"), True)
    assert judged < 3 * len(ids)


def test_a_search_without_end_is_cut_short_and_says_so() -> None:
    ids = list(range(3_000))
    shown, shrunk = minimal(ids, lambda some: len(some) > 2_000 and some[-1] == 2_999)
    assert not shrunk
    assert 2_000 < len(shown) <= 3_000


def test_what_does_not_fail_stays_whole() -> None:
    assert minimal([1, 2, 3], lambda _: False) == ([1, 2, 3], False)


def test_arguments_that_are_no_json_are_shown_by_their_message() -> None:
    call = "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>"
    steps: Sequence[Step] = (
        GOOD[0],
        GOOD[1],
        (f'{call}{{"city": Paris', {"tool_calls": [{"index": 0, "function": {"name": "f"}}]}),
        ("<|call|>", {"tool_calls": [{"index": 0, "function": {"arguments": '{"city": Paris'}}]}),
    )
    seen = inspect(chat(steps, finish="tool_calls"))
    (finding,) = [one for one in seen.findings if one.kind is Kind.INVALID_TOOL_ARGUMENTS]
    shown = reproduce(seen.reading.choice, finding)
    assert shown is not None
    assert shown.shrunk
    assert len(shown.ids) < len(encode(call)) + 6


def test_a_servers_loss_gives_the_message_and_what_a_server_must_sample() -> None:
    seen = inspect(chat(LOSS))
    (finding,) = seen.findings
    shown = reproduce(seen.reading.choice, finding)
    assert shown is not None
    assert shown.ids == shown.script == encode("<|channel|>analysis<|message|>Need weather.<|end|>")
    assert (shown.by_parser, shown.shrunk) == (False, False)


def test_without_tokens_there_is_nothing_to_reproduce() -> None:
    (path,) = [one.path for one in builtin() if one.name == "responses-dropped-tokens-vllm-0.13.0"]
    seen = inspect(load(path)[0])
    assert [reproduce(seen.reading.choice, finding) for finding in seen.findings] == [None] * len(
        seen.findings
    )
