from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.analysis.audit import Kind
from inspector.files.store import builtin, load
from inspector.inspection.inspection import inspect
from inspector.protocol.harmony.vocab import encode
from inspector.views.report import minimal, rejection_words, reproduce
from tests.support.streams import CLEAN, LOSS, Step, chat


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
def test_reproduce_shrinks_tokens_that_the_reference_parser_rejects(name: str, kind: Kind, text: str) -> None:
    (path,) = [row.path for row in builtin() if row.name == name]
    inspection = inspect(load(path))
    (finding,) = [finding for finding in inspection.findings if finding.kind is kind]
    reproduction = reproduce(inspection.reading.choice, finding)
    assert reproduction is not None
    assert (reproduction.ids, reproduction.shrunk, reproduction.by_parser) == (encode(text), True, True)
    assert rejection_words(reproduction.ids) == reproduction.says == finding.delivered


HARMONY = st.lists(
    st.sampled_from(
        encode(
            "<|start|><|end|><|message|><|channel|><|return|><|call|><|constrain|>assistant analysis user Hi"
        )
    ),
    max_size=30,
)


@given(ids=HARMONY)
def test_minimal_list_fails_and_no_token_can_be_omitted(ids: list[int]) -> None:
    words = rejection_words(ids)
    if words is None:
        return

    def fails(part: Sequence[int]) -> bool:
        return rejection_words(part) == words

    minimal_ids, shrunk = minimal(ids, fails)
    assert shrunk
    assert fails(minimal_ids)
    assert len(minimal_ids) == 1 or not any(
        fails(minimal_ids[:at] + minimal_ids[at + 1 :]) for at in range(len(minimal_ids))
    )


def test_minimal_of_thousands_of_messages_is_bounded() -> None:
    message = encode("<|start|>assistant<|channel|>analysis<|message|>word after word<|end|>")
    ids = message * (20_000 // len(message)) + encode("<|return|>")
    words = rejection_words(ids)
    judged = 0

    def fails(part: Sequence[int]) -> bool:
        nonlocal judged
        judged += len(part)
        return rejection_words(part) == words

    assert minimal(ids, fails) == (encode("<|message|><|end|><|return|>"), True)
    assert judged < 3 * len(ids)


def test_minimal_reports_a_search_that_was_cut_short() -> None:
    ids = list(range(3_000))
    minimal_ids, shrunk = minimal(ids, lambda part: len(part) > 2_000 and part[-1] == 2_999)
    assert not shrunk
    assert 2_000 < len(minimal_ids) <= 3_000


def test_minimal_of_tokens_that_do_not_fail_is_all_of_them() -> None:
    assert minimal([1, 2, 3], lambda _: False) == ([1, 2, 3], False)


def test_reproduce_invalid_arguments_by_their_message() -> None:
    call = "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>"
    steps: Sequence[Step] = (
        CLEAN[0],
        CLEAN[1],
        (f'{call}{{"city": Paris', {"tool_calls": [{"index": 0, "function": {"name": "f"}}]}),
        ("<|call|>", {"tool_calls": [{"index": 0, "function": {"arguments": '{"city": Paris'}}]}),
    )
    inspection = inspect(chat(steps, finish="tool_calls"))
    (finding,) = [finding for finding in inspection.findings if finding.kind is Kind.INVALID_TOOL_ARGUMENTS]
    reproduction = reproduce(inspection.reading.choice, finding)
    assert reproduction is not None
    assert reproduction.shrunk
    assert len(reproduction.ids) < len(encode(call)) + 6


def test_reproduce_a_loss_by_the_server() -> None:
    inspection = inspect(chat(LOSS))
    (finding,) = inspection.findings
    reproduction = reproduce(inspection.reading.choice, finding)
    assert reproduction is not None
    assert (
        reproduction.ids
        == reproduction.script
        == encode("<|channel|>analysis<|message|>Need weather.<|end|>")
    )
    assert (reproduction.by_parser, reproduction.shrunk) == (False, False)


def test_reproduce_without_tokens_is_none() -> None:
    (path,) = [row.path for row in builtin() if row.name == "responses-dropped-tokens-vllm-0.13.0"]
    inspection = inspect(load(path))
    assert [reproduce(inspection.reading.choice, finding) for finding in inspection.findings] == [None] * len(
        inspection.findings
    )


def test_a_search_that_finds_nothing_parses_a_bounded_number_of_tokens() -> None:
    """A header of thousands of letters, each of which matters: the parser reads it anew at each token."""
    all_tokens = list(range(400))
    parsed = 0

    def fails(part: Sequence[int]) -> bool:
        nonlocal parsed
        parsed += len(part)
        return list(part) == all_tokens

    assert minimal(all_tokens, fails) == (all_tokens, False)
    assert parsed < 61_000
