"""A server's own words: published phrases stay, all else is replaced."""

import pytest

from inspector.capture.capture import STOPPED
from inspector.inspection.masking.pieces import MaskedTexts
from inspector.inspection.masking.standins import Standins
from inspector.inspection.masking.words import Words
from inspector.issues.catalogue.table import catalogue
from inspector.protocol.harmony.parser_errors import parser_error


def words(generated: str = "", standin: str = "") -> Words:
    standins = Standins(bytes(32))
    pieces = MaskedTexts(standins)
    pieces.add(generated, standin)
    return Words(pieces, standins)


@pytest.mark.parametrize(
    "message",
    [
        "Unexpected token 200002 while expecting start token 200006",
        "harmony output parsing failed: Unknown role: assistantary",
        "channel marker present but no channel value found in header",
        'unexpected tokens remaining in message header: Some("to=functions.")',
        "Unexpected EOS while waiting for message header to complete",
        "keep-alive",
        STOPPED,
        "RemoteProtocolError: peer closed connection without sending complete message body",
    ],
)
def test_published_phrases_stay(message: str) -> None:
    assert words().masked(message) == message


def test_a_header_that_a_parser_quotes_has_the_stand_ins_of_its_tokens() -> None:
    masked = words("<|start|>bash to=x<|channel|>", "<|start|>zork to=y<|channel|>").masked
    assert masked("Unknown role: bash") == "Unknown role: zork"
    quoted = 'unexpected tokens remaining in message header: Some("bash to=x") and bash'
    assert masked(quoted).startswith('unexpected tokens remaining in message header: Some("zork to=y") ')
    assert "bash" not in masked(quoted)


def test_the_number_of_a_rejected_token_is_that_of_its_stand_in() -> None:
    message = words().masked("Unexpected token 12253 while expecting start token 200006")
    error = parser_error(message)
    assert error is not None
    assert error.token_id == words().token(12253) != 12253


def test_an_unknown_message_is_replaced_as_a_whole() -> None:
    message = "Grandmother cannot be reached at 4711 Honey Lane"
    masked = words().masked(message)
    assert len(masked) == len(message)
    assert not set(masked.split()) & set(message.split())


def test_of_a_known_issue_stay_only_the_words_that_it_is_recognized_by() -> None:
    message = "Sorry Bob: This model's maximum context length is 4096 tokens, your grandmother wrote 5000"
    masked = words().masked(message)
    assert "maximum context length is " in masked
    assert not any(word in masked for word in ("Sorry", "Bob", "4096", "grandmother", "5000"))


def test_known_issues_are_recognized_in_the_words_that_stay() -> None:
    lost = []
    for issue in catalogue():
        for example in (*issue.examples, *issue.server_text, *issue.must_match):
            masked = words().masked(example)
            patterns = [pattern.expression for pattern in (*issue.patterns, *issue.may_match)]
            lost += [
                (issue.id, pattern.pattern, masked)
                for pattern in patterns
                if pattern.search(example) and not pattern.search(masked)
            ]
    assert lost == []
