"""Strict and lenient parsing of the same tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.analysis.audit import audit
from inspector.analysis.reading import read
from inspector.issues.findings.diagnose import diagnose_capture
from inspector.issues.reference_parsers import parser_results
from inspector.protocol.harmony.vocab import MARKERS, encode
from tests.support.streams import completion

STREAM = (
    "I'm sorry, but I can't help with that.<|end|>"
    "<|start|>assistant<|channel|>final<|message|>Sorry.<|return|>"
)


def test_the_lenient_parser_recovers_what_the_strict_one_rejects() -> None:
    strict, lenient = parser_results(encode(STREAM))
    assert strict.rejected_at == encode(STREAM).index(200008)
    assert strict.words.startswith("unexpected tokens remaining in message header")
    assert strict.messages == ()
    assert lenient.rejected_at is None
    assert lenient.messages == ("no channel “I'm sorry, but I can't help with that.”", "final “Sorry.”")


def test_both_stop_at_a_second_stop_token() -> None:
    for parsed in parser_results(encode("<|channel|>analysis<|message|>A.<|end|><|return|>")):
        assert parsed.sentence == (
            f"The {parsed.parser} parser stops at token 6 (Unexpected token 200002 while expecting start "
            "token 200006) after 1 message: analysis “A.”."
        )


def test_an_end_inside_a_header_is_rejected_after_the_last_token() -> None:
    strict = parser_results(encode("<|channel|>final"))[0]
    assert (strict.rejected_at, strict.messages) == (2, ())


@pytest.mark.parametrize(("stream", "count"), [(STREAM, 2), ("<|channel|>final<|message|>Hi<|return|>", 0)])
def test_a_capture_is_parsed_again_when_the_format_rejects_its_tokens(stream: str, count: int) -> None:
    reading = read(completion([(stream, stream)], request={"skip_special_tokens": False}))
    assert len(diagnose_capture(audit(reading), reading).parser_results) == count


@given(st.lists(st.one_of(st.sampled_from(sorted(MARKERS)), st.integers(-5, 1 << 40)), max_size=30))
def test_any_tokens_have_results(ids: list[int]) -> None:
    for parsed in parser_results(ids):
        assert parsed.rejected_at is None or 0 <= parsed.rejected_at <= len(ids)
        assert parsed.sentence
