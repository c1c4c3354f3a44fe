import json

import pytest

from inspector.wire.payloads import PayloadReader
from inspector.wire.stream import loads

HEAD = '{"id":"x","object":"chat.completion.chunk","created":1,"model":"m",'


def after(first: str, text: str) -> object:
    reader = PayloadReader()
    reader.read(first)
    return reader.read(text)


def test_a_repeated_head_is_left_out_the_second_time() -> None:
    text = HEAD + '"choices":[]}'
    reader = PayloadReader()
    assert reader.read(text) == json.loads(text)
    assert reader.read(text) == {"choices": []}


@pytest.mark.parametrize(
    "rest",
    ["}", "", '"choices":[', '"choices":[]} x', "nope}", '"choices":[],}', ',"choices":[]}', "[" * 5000],
)
def test_what_is_no_json_with_its_head_is_none_without_it(rest: str) -> None:
    assert loads(HEAD + rest) is None
    assert after(HEAD + '"choices":[]}', HEAD + rest) is None


@pytest.mark.parametrize("member", ['"usage":{"n":1}', '"error":{"message":"m"}', '"prompt_token_ids":[1]'])
def test_a_head_that_says_something_is_never_left_out(member: str) -> None:
    text = "{" + member + ',"choices":[]}'
    assert after(text, text) == json.loads(text)


@pytest.mark.parametrize("tail", [' "choices" : [] } ', '"choices":[1]}\n', '"id":"y","choices":[2]}'])
def test_other_spellings_mean_the_same(tail: str) -> None:
    read = after(HEAD + '"choices":[]}', HEAD + tail)
    assert isinstance(read, dict)
    assert read["choices"] == json.loads(HEAD + tail)["choices"]


@pytest.mark.parametrize("name", ['"choices":[', "choices", '","choices":['])
def test_choices_inside_a_string_is_no_head(name: str) -> None:
    text = json.dumps({"id": name, "choices": [1]}, separators=(",", ":"))
    read = after(text, text)
    assert isinstance(read, dict)
    assert read["choices"] == [1]
