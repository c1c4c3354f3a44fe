import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol.harmony.events import TokenRejected
from inspector.protocol.harmony.parser_errors import ParserError, RejectionReason, parser_error
from inspector.protocol.harmony.tracker import HarmonyTracker
from inspector.protocol.harmony.vocab import encode

THINK = "<|channel|>analysis<|message|>x<|end|>"


def message_of(text: str) -> str:
    """What the reference parser says of a stream."""
    events = HarmonyTracker().receive(encode(text))
    return next(event.words for event in events if isinstance(event, TokenRejected))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (THINK + "comment", ParserError(reason=RejectionReason.NOT_START, token_id=12606)),
        (
            THINK + "<|start|>assistantary<|channel|>final<|message|>",
            ParserError(reason=RejectionReason.UNKNOWN_ROLE, quoted="assistantary"),
        ),
        (
            "<|channel|>analysis we need extra words<|message|>",
            ParserError(reason=RejectionReason.EXTRA_WORDS, quoted="we need"),
        ),
        (THINK + "<|start|>assistant<|channel|><|message|>", ParserError(reason=RejectionReason.NO_CHANNEL)),
        (THINK + "<|start|><|channel|>final<|message|>", ParserError(reason=RejectionReason.NO_ROLE)),
    ],
)
def test_the_words_of_the_installed_parser_are_read(text: str, error: ParserError) -> None:
    assert parser_error(message_of(text)) == error


def test_a_quoted_header_is_unescaped() -> None:
    words = message_of('<|channel|>analysis "a\\b" é x y<|message|>')
    assert words.endswith('Some("\\"a\\\\b\\" é")')
    assert parser_error(words) == ParserError(reason=RejectionReason.EXTRA_WORDS, quoted='"a\\b" é')


def test_the_list_of_older_releases_is_read() -> None:
    words = 'unexpected tokens remaining in message header: ["to=functions.f", "\\u{1f600}", "\\u{d800}"]'
    error = parser_error(words)
    assert error is not None
    assert error.quoted == "to=functions.f \U0001f600 \ufffd"


@pytest.mark.parametrize(
    "words",
    ["could not decode header", "Unexpected EOS while waiting for message header to complete"],
)
def test_messages_without_a_quotation_name_their_reason(words: str) -> None:
    error = parser_error(f"EngineCore: {words} (see the log)")
    assert error is not None
    assert error.reason.in_header
    assert error.quoted == ""


@pytest.mark.parametrize(
    "words",
    [
        "",
        "list index out of range",
        "Expecting value: line 1 column 1 (char 0)",
        "unhandled errors in a TaskGroup (1 sub-exception)",
        "Unexpected token < in JSON at position 0",
        "Unknown recipient: None",
    ],
)
def test_other_errors_are_none_of_the_parsers(words: str) -> None:
    assert parser_error(words) is None


@given(st.text())
def test_any_text_is_read(words: str) -> None:
    for start in ("", "unexpected tokens remaining in message header: ", "Unknown role: "):
        parser_error(start + words)


def test_a_very_long_quotation_is_cut_and_costs_little() -> None:
    error = parser_error('unexpected tokens remaining in message header: Some("' + "a" * 5_000_000)
    assert error == ParserError(reason=RejectionReason.EXTRA_WORDS)
