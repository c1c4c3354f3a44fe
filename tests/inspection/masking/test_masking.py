"""Captures without their text: nothing of it is left, and the audit finds the same."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from inspector.capture.capture import Capture, End, Endpoint, Event, Header, render
from inspector.files.store import FIXTURES, load
from inspector.inspection.inspection import inspect
from inspector.inspection.masking import MaskingFailed, Standins, masked
from inspector.inspection.masking.capture import findings_of
from inspector.inspection.masking.vocabulary import GRAMMAR, KEYS
from inspector.matrix.results import capture_of, every_run
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import Marker, encode, encode_plain, token_bytes
from tests.support.builtin import TOOL
from tests.support.hostile import hostile
from tests.support.mutated import mutated

FILES = sorted(FIXTURES.glob("*.jsonl*"))
PIECE = 8
PROTOCOL_WORDS = ("function", "reasoning", "null", "<|endoftext|>", *(marker.text for marker in Marker))
"""What the text of a capture shares with the protocol itself."""
SYSTEM = (
    "You are ChatGPT, a large language model trained by OpenAI. Channel must be included for every message."
    " Calls to these tools must go to the commentary channel: 'functions'."
)
"""What every server renders into a prompt."""


def strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for part in value.values():
                yield from strings(part)
        case list() | tuple():
            for part in value:
                yield from strings(part)
        case _:
            return


def texts(capture: Capture) -> set[str]:
    """Prompt, tools, reasoning, answer and arguments, generated and delivered."""
    request = capture.header.request
    all_texts = {
        text for key in ("messages", "input", "prompt", "tools") for text in strings(request.get(key))
    }
    for choice in inspect(capture).reading.choices:
        generated = choice.generated()
        all_texts.update(generated.by_field().values() if generated else ())
        all_texts.update([*choice.delivered().by_field().values(), *choice.finals.values()])
    return all_texts


def pieces(text: str) -> set[bytes]:
    """All pieces of eight bytes that say something: not spaces and punctuation, not Harmony's own words."""
    for word in PROTOCOL_WORDS:
        text = text.replace(word, "\0")
    content = GRAMMAR.sub("\0", text).encode("utf-8", "replace")
    pieces = (content[at : at + PIECE] for at in range(len(content) - PIECE + 1))
    # Scripts that count to 300 have all short numbers, in the original and among its stand-ins.
    return {
        piece
        for piece in pieces
        if b"\0" not in piece and (has_letters(piece) or sum(map(is_digit, piece)) > 6)
    }


def has_letters(piece: bytes) -> bool:
    """Whether there is a letter of any script in it."""
    return any(chr(byte).isalpha() or byte >= 0x80 for byte in piece)


def is_digit(byte: int) -> bool:
    return 0x30 <= byte <= 0x39


def protocol(value: Any) -> Iterator[str]:
    """Keys and types of JSON: a prompt may have the same words, such as `message` or `code_interpreter`."""
    match value:
        case dict():
            for key, part in value.items():
                yield key
                yield from [part] if key == "type" and isinstance(part, str) else protocol(part)
        case list():
            for part in value:
                yield from protocol(part)
        case _:
            return


def left_in(copy: Capture, original: Capture) -> set[bytes]:
    """Pieces of the original's text in a redacted capture."""
    content = content_of(copy)
    protocol_words = {"harmony_capture", *KEYS}
    for event in original.events:
        with suppress(ValueError):
            protocol_words.update(protocol(json.loads(event.data)))
    words = (" ".join(f'{{"{word}":"' for word in protocol_words) + SYSTEM).encode()
    original_pieces = {piece for text in texts(original) for piece in pieces(text)}
    return {piece for piece in original_pieces if piece in content and piece not in words}


def content_of(capture: Capture) -> bytes:
    """The file, its strings without JSON's escapes, and what its token IDs read."""
    lines = list(render(capture))
    payloads = [json.loads(line) for line in lines]
    for event in capture.events:
        with suppress(ValueError):
            payloads.append(json.loads(event.data))
    reading = inspect(capture).reading
    ids = [
        *(reading.stream.prompt_ids or ()),
        *(token for choice in reading.choices for token in choice.tokens.ids),
    ]
    return "\n".join([*lines, *strings(payloads), text_of(ids)]).encode("utf-8", "replace")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_redacted_capture_has_the_same_findings_and_none_of_its_text(path: Path) -> None:
    capture = load(path)
    copy = masked(capture, Standins(path.name.encode()))
    assert findings_of(inspect(copy)) == findings_of(inspect(capture))
    assert left_in(copy, capture) == set()
    for before, after in zip(render(capture), render(copy), strict=True):
        assert json.loads(before).keys() == json.loads(after).keys()
    for event, copied in zip(capture.events, copy.events, strict=True):
        assert len(json.dumps(event.data)) == pytest.approx(len(json.dumps(copied.data)), rel=0.2)


def test_captures_of_the_matrix_keep_their_findings_and_nothing_of_their_text() -> None:
    # One of every other recording; `python -m bench.redaction` does all.
    failed = []
    for number, run in enumerate(every_run()[::2]):
        endpoint, script = sorted(run.scores)[number * 37 % len(run.scores)]
        capture = capture_of(run, endpoint, script)
        assert capture is not None
        try:
            copy = masked(capture, Standins(str(number).encode()))
        except MaskingFailed:
            failed.append((run.name, endpoint, script))
            continue
        if left_in(copy, capture):
            failed.append((run.name, endpoint, script))
    assert failed == []


def test_a_random_key_gives_other_text_each_time() -> None:
    capture = load(FIXTURES / f"{TOOL}.jsonl")
    first, second = (masked(capture, Standins(os.urandom(32))) for _ in range(2))
    assert first.events != second.events
    assert masked(capture, Standins(b"key")) == masked(capture, Standins(b"key"))


@pytest.mark.parametrize(
    "text",
    [
        'The weather in Paris, at 12.5 °C: {"city": "Paris", "ok": true, "none": null, "n": [0, 10, 0.05]}',
        r'{"escaped": "\u00e9t\u00e9 \n \"quoted\" \\ \ud83d\udc4b", "e": 1e5}',
        "Größe “schön” 你好世界 こんにちは 👋🏽 مرحبا สวัสดี",
        "<|start|>assistant is no text, and <|this_neither|>",
        "\ud800 half a character, \ufffd a broken one \x00\t\n",
    ],
)
def test_a_text_keeps_its_form(text: str) -> None:
    standins = Standins(b"form")
    standin = standins.text(text)
    assert len(standin.encode("utf-8", "replace")) == len(text.encode("utf-8", "replace"))
    assert [len(token_bytes(token_id)) for token_id in encode_plain(standin)] == [
        len(token_bytes(token_id)) for token_id in encode_plain(text)
    ]
    for char, replacement in zip(text, standin, strict=True):
        if not (char.isalnum() or char in "👋🏽°" or replacement.isalpha()):
            assert char == replacement
    if text.startswith("{"):
        assert json.loads(standin).keys() != json.loads(text).keys()
        assert [type(value) for value in json.loads(standin).values()] == [
            type(value) for value in json.loads(text).values()
        ]


def test_tokens_are_replaced_one_by_one_also_where_a_model_spells_a_word_in_its_own_way() -> None:
    standins = Standins(b"tokens")
    for ids in (
        encode(" internationalization"),
        [token_id for char in "weather" for token_id in encode(char)],
        [61138],
    ):
        standin = standins.ids(ids)
        assert [len(token_bytes(token_id)) for token_id in standin] == [
            len(token_bytes(token_id)) for token_id in ids
        ]
        assert all(token_id != replacement for token_id, replacement in zip(ids, standin, strict=True))
    assert standins.token(200008) == 200008
    assert standins.token(-5) == -5


def test_a_token_with_a_form_of_its_own_is_replaced_by_one_of_as_many_characters() -> None:
    standins = Standins(b"forms")
    for text in (" característica", " selbstverständlich", " représentants", " fonctionnalités"):
        [token_id] = encode_plain(text)
        standin = text_of([standins.token(token_id)])
        assert len(standin) == len(text)
        assert not any(
            char == replacement for char, replacement in zip(text.strip(), standin.strip(), strict=True)
        )


def test_only_names_of_special_tokens_stay_in_a_text() -> None:
    standin = Standins(b"special").text("<|start|> <|grandmother|> \\g\\r\\a\\n\\d")
    assert standin.startswith("<|start|> <|")
    assert "grandmother" not in standin
    assert not any(f"\\{letter}" in standin for letter in "gad")


def test_names_of_tools_stay_one_name() -> None:
    capture = load(FIXTURES / f"{TOOL}.jsonl")
    copy = masked(capture, Standins(b"names"))
    [tool] = copy.header.request["tools"]
    [call] = inspect(copy).reading.choice.delivered().tool_calls
    assert call.name == tool["function"]["name"] != "get_weather"
    assert len(call.name) == len("get_weather")


@pytest.mark.parametrize("name", ["weather", "logprobs", "text"])
def test_logprobs_have_the_tokens_of_the_text(name: str) -> None:
    ids = encode_plain("The weather is nice.")
    entries = [
        {
            "token": text_of([token_id]) if name == "weather" else f"token_id:{token_id}",
            "logprob": -0.5,
            "bytes": list(token_bytes(token_id)),
            "top_logprobs": [{"token": text_of([token_id]), "logprob": -0.5, "bytes": None}],
        }
        for token_id in ids
    ]
    chunks = [
        {
            "choices": [
                {
                    "index": 0,
                    "delta": {"content": text_of([token_id])} if name != "text" else {},
                    "logprobs": {"content": [entry]},
                    "finish_reason": None,
                }
            ]
        }
        for token_id, entry in zip(ids, entries, strict=True)
    ]
    capture = Capture(
        header=Header(endpoint=Endpoint.CHAT),
        events=[*(Event(json.dumps(payload), 0.1) for payload in chunks), Event("[DONE]", 0.2)],
        end=End(at_s=0.2, cut=False),
    )
    copy = masked(capture, Standins(b"logprobs"))
    before, after = inspect(capture).reading.choice, inspect(copy).reading.choice
    assert len(after.tokens) == len(before.tokens) == len(ids)
    assert list(after.tokens.ids) != ids
    if name != "text":
        assert "".join(delta.text for delta in after.deltas) == text_of(after.tokens.ids)
    for event, id_after in zip(copy.events, after.tokens.ids, strict=False):
        [entry] = json.loads(event.data)["choices"][0]["logprobs"]["content"]
        assert entry["bytes"] == list(token_bytes(id_after))
        assert "weather" not in event.data


def test_hostile_text_is_redacted_wherever_it_stands() -> None:
    streams = hostile()
    header = replace(streams.capture.header, model="m", server_version="1", source="s")  # these say no text
    capture = replace(streams.capture, header=header)
    copy = masked(capture, Standins(b"any"))
    assert findings_of(inspect(copy)) == findings_of(inspect(capture))
    assert not any(word in content_of(copy) for word in (b"script", b"alert", b"onerror"))


@given(mutated())
def test_any_stream_is_redacted_or_refused_in_words(capture: Capture) -> None:
    try:
        copy = masked(capture, Standins(b"any"))
    except MaskingFailed:
        return
    assert findings_of(inspect(copy)) == findings_of(inspect(capture))
    assert len(copy.events) == len(capture.events)


def test_what_nests_deeper_than_python_walks_is_refused_in_words() -> None:
    deep = "[" * 900 + "]" * 900
    capture = Capture(
        header=Header(endpoint=Endpoint.CHAT), events=[Event('{"a":' + deep + "}", 0.1)], end=None
    )
    try:
        masked(capture, Standins(b"deep"), name="deep.jsonl")
    except MaskingFailed as error:
        assert "deep.jsonl" in str(error)  # noqa: PT017 -- whether it fails depends on Python's limit
