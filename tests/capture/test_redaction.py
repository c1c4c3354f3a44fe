"""Secrets go, all else stays word for word."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.capture.redaction import redact

REQUEST: dict[str, Any] = {
    "model": "openai/gpt-oss-20b",
    "messages": [
        {"role": "user", "content": "my token is sk-abc, Authorization: Bearer sk-abc", "name": None}
    ],
    "max_tokens": 10,
    "return_token_ids": True,
    "stop_token_ids": [200012],
    "logit_bias": {"200006": -100},
    "prompt_cache_key": "k",
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "login",
                "parameters": {
                    "type": "object",
                    "properties": {"token": {"type": "string"}, "password": {"type": "string"}},
                    "required": ["token", "password"],
                },
            },
        }
    ],
    "image": "https://example.org/a?b=c&max_tokens=3#token=x",
}


HARMLESS = dict.fromkeys(
    [
        *("tokens", "max_tokens", "token_ids", "stop_token_ids", "password_policy_url", "passwords_seen"),
        *("bypass_words", "compass", "word", "first_pass", "secretary", "author", "authority", "keys", "key"),
        *("api_keys_url", "monkey", "android_token", "pad_token", "idtokens", "token_id", "key_id", "pass"),
        *("1", "", "_", "session_tokens", "stop_tokens", "key_2", "top_k1", "passwords_seen_2"),
    ],
    "x",
)
"""Names that sound like those of secrets and are none."""


def test_a_request_without_secrets_stays_word_for_word() -> None:
    assert redact(REQUEST) == REQUEST


@pytest.mark.parametrize(
    ("given_", "redacted"),
    [
        ({"api_key": "sk-1", "API-Key": "sk-1", "model": "m"}, {"model": "m"}),
        ({"Authorization": "Bearer sk-1", "Accept": "*/*"}, {"Accept": "*/*"}),
        ({"authorization": {"bearer": "sk-1"}}, {}),
        ({"cache_salt": "sk-1"}, {}),
        ({"accessToken": "sk-1", "secretKey": "sk-1", "service_key": "sk-1", "apiKey": "sk-1"}, {}),
        ({"openaiApiKey": "sk-1", "aws_secret_access_key": "sk-1", "DB-PASSWORD": "sk-1"}, {}),
        ({"serviceAPIKey": "sk-1", "X-Auth-Token": "sk-1", "clientSecret": "sk-1"}, {}),
        ({"pass_word": "sk-1", "PASS-WORD": "sk-1", "db.pass word": "sk-1", "Pass\u200bPhrase": "sk-1"}, {}),
        ({"api.key": "sk-1", "Api Key": "sk-1", "x--api__key": "sk-1", "client secret": "sk-1"}, {}),
        ({"api_k_e_y": "sk-1", "PASSWord": "sk-1", "passWord": "sk-1", "_token_": "sk-1"}, {}),
        ({"api_key_1": "sk-1", "apiKey2": "sk-1", "password1": "sk-1", "x-api-key-02": "sk-1"}, {}),
        (
            {"api_keys": ["sk-1"], "vllmApiKeys": ["sk-1"], "secrets": {"a": "sk-1"}, "db_passwords": "sk-1"},
            {},
        ),
        (HARMLESS, HARMLESS),
        (
            {"prompt_cache_key": "k", "eos_token": "x", "tokens": "x", "keyboard": "x", "maxTokens": "9"},
            {"prompt_cache_key": "k", "eos_token": "x", "tokens": "x", "keyboard": "x", "maxTokens": "9"},
        ),
        ({"u": "https://e.org/?key=sk-1&sig=sk-1&a=1"}, {"u": "https://e.org/?a=1"}),
        (
            {"u": "https://e.org/o?X-Amz-Signature=sk-1&X-Amz-Credential=sk-1&a=1"},
            {"u": "https://e.org/o?a=1"},
        ),
        ({"sasToken": "sk-1", "headers": {"passphrase": "sk-1", "Via": "a"}}, {"headers": {"Via": "a"}}),
        ({"token": True, "password": None}, {"token": True, "password": None}),
        (
            {
                "tools": [
                    {"type": "mcp", "authorization": "sk-1", "headers": {"X-My-Key": "sk-1", "Accept": "a"}}
                ]
            },
            {"tools": [{"type": "mcp", "headers": {"Accept": "a"}}]},
        ),
        ({"extra_headers": {"X-Session": "sk-1"}}, {"extra_headers": {}}),
        ({"server_url": "https://me:sk-1@example.org/mcp"}, {"server_url": "https://example.org/mcp"}),
        ({"u": "https://e.org/?a=1&api_key=sk-1&b=2"}, {"u": "https://e.org/?a=1&b=2"}),
        ({"u": "https://e.org/?api-key=sk-1#f"}, {"u": "https://e.org/?#f"}),
        ({"u": "https://e.org/?token=sk-1"}, {"u": "https://e.org/"}),
        ({"u": "see https://me:sk@e.org now"}, {"u": "see https://me:sk@e.org now"}),
    ],
)
def test_what_names_a_secret_goes(given_: dict[str, Any], redacted: dict[str, Any]) -> None:
    assert redact(given_) == redacted


def test_headers_lose_every_name_that_sounds_like_a_secret() -> None:
    headers = {"Host": "e", "Cookie": "a", "X-Goog-Api-Key": "b", "x-amz-security-token": "c", "Accept": "d"}
    assert redact(headers, headers=True) == {"Host": "e", "Accept": "d"}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["token", "headers"]), inner)
        ),
    )
)
def test_a_second_pass_finds_nothing_and_the_first_leaves_its_input_alone(body: Any) -> None:
    before = repr(body)
    redacted = redact(body)
    assert repr(body) == before
    assert redact(redacted) == redacted
    assert type(redacted) is type(body)


def test_a_body_may_nest_as_deep_as_it_likes() -> None:
    nest: dict[str, Any] = {"token": "sk-1"}
    for _ in range(50_000):
        nest = {"a": nest}
    redacted = redact(nest)
    for chain in (redacted, nest):  # taken apart by hand: freeing them at once would recurse as deep
        depth = 0
        while "a" in chain:
            chain, depth = chain.pop("a"), depth + 1  # noqa: PLW2901 -- walks down the chain
        assert depth == 50_000
        assert chain == ({} if chain is not nest and not chain else {"token": "sk-1"})
