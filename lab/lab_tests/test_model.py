"""The tiny model, read back as a tokenizer would: with nothing but its own merges."""

import hashlib
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from harmony_lab.model import TEXT_TOKENS, make_model, make_vocabulary, uses_llama_body
from inspector.protocol.harmony import vocab


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models"), llama_body=False)


@pytest.fixture(scope="module")
def tokenizer(model: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((model / "tokenizer.json").read_text(encoding="utf-8"))
    return read


def test_vocabulary_file_is_the_published_one(tmp_path: Path) -> None:
    folder = make_vocabulary(tmp_path)
    content = (folder / "o200k_base.tiktoken").read_bytes()
    assert (
        hashlib.sha256(content).hexdigest()
        == "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
    )


def test_tokenizer_covers_every_id(tokenizer: dict[str, Any]) -> None:
    assert sorted(tokenizer["model"]["vocab"].values()) == list(range(TEXT_TOKENS))
    special = {entry["id"]: entry["content"] for entry in tokenizer["added_tokens"]}
    assert sorted(special) == list(range(TEXT_TOKENS, vocab.VOCABULARY_SIZE))
    assert {marker.text: special[marker] for marker in vocab.Marker} == {
        marker.text: marker.text for marker in vocab.Marker
    }


def test_tokenizer_merges_agree_with_openai_harmony(tokenizer: dict[str, Any]) -> None:
    letters = {byte: letter for letter, byte in _letters(tokenizer).items()}
    ranks = {tuple(pair): rank for rank, pair in enumerate(tokenizer["model"]["merges"])}
    ids_by_token = tokenizer["model"]["vocab"]
    for word in ("Harmony", " weather", "assistant", " überraschend", "日本語", "🦩", "commentary", "\n\n\t"):
        parts = [letters[byte] for byte in word.encode()]
        while True:
            pairs = [(ranks[pair], place) for place, pair in enumerate(pairwise(parts)) if pair in ranks]
            if not pairs:
                break
            place = min(pairs)[1]
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        assert [ids_by_token[part] for part in parts] == vocab.encode(word)


def test_make_model_lists_call_as_stop_and_writes_once(model: Path) -> None:
    generation = json.loads((model / "generation_config.json").read_text(encoding="utf-8"))
    assert generation["eos_token_id"] == [200002, 199999, 200012]
    before = (model / "tokenizer.json").stat().st_mtime_ns
    assert make_model(model.parent, llama_body=False) == model
    assert (model / "tokenizer.json").stat().st_mtime_ns == before


def test_make_model_updates_an_old_folder(model: Path) -> None:
    """The Rust front ends of 0.23 and 0.24 render it, so it must end as a Harmony prompt does."""
    config = model / "tokenizer_config.json"
    rewritten = config.read_text(encoding="utf-8")
    assert json.loads(rewritten)["chat_template"].endswith("<|start|>assistant")
    config.write_text("{}", encoding="utf-8")
    make_model(model.parent, llama_body=False)
    assert config.read_text(encoding="utf-8") == rewritten


@pytest.mark.parametrize(
    ("version", "llama"),
    [("0.13.0", True), ("0.23.0", True), ("0.24.0", False), ("0.32.0", False), ("1.0", False)],
)
def test_llama_body_by_release(version: str, *, llama: bool) -> None:
    assert uses_llama_body(version) is llama


def _letters(tokenizer: dict[str, Any]) -> dict[str, int]:
    """Letter to byte, from the 256 tokens of one byte."""
    return {
        text: vocab.token_bytes(token_id)[0]
        for text, token_id in tokenizer["model"]["vocab"].items()
        if len(vocab.token_bytes(token_id)) == 1
    }
