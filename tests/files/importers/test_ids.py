"""Lists of token ids."""

import json

import pytest

from inspector.capture.capture import Endpoint, Event
from tests.support.foreign import read, refusal


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("[200005, 35644,200008]", "[200005, 35644,200008]"),
        ("\ufeff [1]\n", "[1]"),
        ("200005 35644\n200008\r\n", "[200005, 35644, 200008]"),
        ("200005,35644;200008,", "[200005, 35644, 200008]"),
        ("[200005 35644 200008]", "[200005, 35644, 200008]"),
        ("(200005, 35644, 200008)", "[200005, 35644, 200008]"),
        ("[[200005], [35644]", None),
        ("7", "[7]"),
        ("-1 201088 2147483648 +5 007", "[-1, 201088, 2147483648, 5, 7]"),
        ("[-1, 2147483648, 18446744073709551616]", "[-1, 2147483648, 18446744073709551616]"),
        ('{"token_ids": [1, 2]}', "[1, 2]"),
        ('{"output_token_ids": [1, 2], "x": {}}', "[1, 2]"),
        ('{"output_ids": [1, 2]}', "[1, 2]"),
        ('{"count": 2, "max_model_len": 9, "tokens": [1, 2]}', "[1, 2]"),
    ],
)
def test_lists_of_ids_are_one_event_of_the_tokens_endpoint(text: str, ids: str | None) -> None:
    if ids is None:
        assert refusal(text).startswith("f:1: the JSON is invalid or truncated")
        return
    capture = read(text)
    assert capture.header.endpoint is Endpoint.TOKENS
    assert capture.events == [Event(ids)]
    assert capture.notes == ()


@pytest.mark.parametrize("text", ["[1, 2, 33", "[1 2", "(1, 2"])
def test_a_list_without_its_end_is_read_with_a_doubt(text: str) -> None:
    assert read(text).notes == (
        "The list has no closing bracket: it is truncated, perhaps inside its last number.",
    )


@pytest.mark.slow
def test_a_million_ids_read() -> None:
    ids = list(range(1_000_000))
    text = json.dumps(ids)
    assert read(text).events == [Event(text)]
    assert json.loads(read(" ".join(map(str, ids))).events[0].data) == ids


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[]", "f: the list is empty; use"),
        ("()", "f: the list is empty; use"),
        ("[1, 2.0]", "f: item 1 of the list is 2.0, not a token ID; use integers"),
        ("[1, true]", "f: item 1 of the list is True, not a token ID; use integers"),
        ("[1, null]", "f: item 1 of the list is None, not a token ID; use integers"),
        ('["1", 2]', "f: item 0 of the list is '1', not a token ID; use integers"),
        ('["\\ud800", 2]', "f: item 0 of the list is '\\ud800', not a token ID; use integers"),
        ("[[1, 2], [3]]", "f: item 0 of the list is a list, not a token ID; use integers"),
        (
            '{"token_ids": ["<script>\\u202e"]}',
            "f: item 0 of the list is '<script>\\u202e', not a token ID; use integers",
        ),
        ('[{"messages": []}]', "f: has a JSON array of objects, but none of the first is a chunk"),
        ("1 2-3", "f: '2-3' is not a token ID; separate IDs with spaces, commas or line breaks"),
        ("9" * 5000, f"f: '{'9' * 36}... is not a token ID; separate IDs with spaces, commas or line breaks"),
        (
            f"[{'9' * 5000}]",
            f"f: '{'9' * 36}... is not a token ID; separate IDs with spaces, commas or line breaks",
        ),
        (
            f'{{"tokens": [{"9" * 5000}]}}',
            "f: the JSON contains a number with thousands of digits; no server sends that",
        ),
    ],
)
def test_what_is_no_id_is_refused_with_its_place(text: str, sentence: str) -> None:
    assert refusal(text).startswith(sentence)
