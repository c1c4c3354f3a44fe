"""A tiny gpt-oss made from code: configuration, tokenizer, vocabulary; no weights, no download.

vLLM fills the weights with random numbers (`--load-format dummy`), and scripted sampling decides the output.
Two shapes: the real architecture for releases that run it on a CPU, and a Llama body under `model_type:
gpt_oss` for older ones, whose CPU kernels lack sinks, experts or a grammar mask for bfloat16. vLLM selects
Harmony by `model_type` alone.
"""

import base64
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from inspector.protocol.harmony import vocab

TEXT_TOKENS: Final = 199_998
"""IDs below this are text, by rank; special tokens follow up to the end of the vocabulary."""
FIRST_GPT_OSS_BODY: Final = (0, 24)
"""First release with the real architecture in the lab; tested with 0.32.0, and with 0.23.0 for the other."""
_CHAT_TEMPLATE: Final = (
    "{% for message in messages %}<|start|>{{ message['role'] }}<|message|>{{ message['content'] }}<|end|>"
    "{% endfor %}<|start|>assistant"
)
"""Only the Rust front ends of 0.23 and 0.24 use it; all others render the Harmony prompt in code."""
_TOKENIZER_CONFIG: Final = {
    # transformers 5 writes a class name that transformers 4 does not know; both read this one.
    "tokenizer_class": "PreTrainedTokenizerFast",
    "bos_token": "<|startoftext|>",
    "eos_token": "<|return|>",
    "pad_token": "<|endoftext|>",
    "clean_up_tokenization_spaces": False,
    "model_max_length": 131_072,
    "chat_template": _CHAT_TEMPLATE,
}

# The split pattern of o200k_base, as published with tiktoken.
_SPLIT: Final = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)


def uses_llama_body(version: str) -> bool:
    """Whether the lab runs a release with the Llama body."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    return numbers < FIRST_GPT_OSS_BODY


def make_model(folder: Path, *, llama_body: bool) -> Path:
    """Write the model of one shape below `folder`, once; returns its own folder."""
    path = folder / ("gpt-oss-tiny-llama-body" if llama_body else "gpt-oss-tiny")
    written = path / "config.json"
    if written.exists():
        _write_again(path / "tokenizer_config.json", _TOKENIZER_CONFIG)
        return path
    path.mkdir(parents=True, exist_ok=True)
    _write(path / "tokenizer.json", _tokenizer())
    _write(path / "tokenizer_config.json", _TOKENIZER_CONFIG)
    # 200012 must be listed, or generation runs on after <|call|> (early model uploads lacked it).
    _write(
        path / "generation_config.json", {"eos_token_id": [200002, 199999, 200012], "pad_token_id": 199999}
    )
    # The configuration comes last: its presence says that the folder is complete.
    _write(written, _config(llama_body=llama_body))
    return path


def make_vocabulary(folder: Path) -> Path:
    """Write `o200k_base.tiktoken` below `folder`, once; returns the folder for TIKTOKEN_ENCODINGS_BASE.

    openai-harmony 0.0.x downloads this file at first use unless the variable names a folder with it.
    """
    path = folder / "vocabulary"
    file = path / "o200k_base.tiktoken"
    if not file.exists():
        path.mkdir(parents=True, exist_ok=True)
        lines = (
            b"%s %d\n" % (base64.b64encode(text), rank) for rank, text in enumerate(token_bytes_by_rank())
        )
        partial = file.with_suffix(".part")
        partial.write_bytes(b"".join(lines))
        partial.replace(file)
    return path


@cache
def token_bytes_by_rank() -> tuple[bytes, ...]:
    """The bytes of every text token, from the vocabulary inside `openai_harmony`."""
    return tuple(vocab.token_bytes(rank) for rank in range(TEXT_TOKENS))


def _config(*, llama_body: bool) -> dict[str, Any]:
    config: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM" if llama_body else "GptOssForCausalLM"],
        "model_type": "gpt_oss",
        "torch_dtype": "float32" if llama_body else "bfloat16",
        "vocab_size": vocab.VOCABULARY_SIZE,
        "hidden_size": 64,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 32,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "rope_theta": 150_000,
        "initializer_range": 0.02,
        "max_position_embeddings": 131_072,
        "attention_bias": not llama_body,
        "attention_dropout": 0.0,
        "tie_word_embeddings": False,
        "use_cache": True,
        "eos_token_id": 200002,
        "pad_token_id": 199999,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "experts_per_token": 2,
    }
    if llama_body:
        return {**config, "mlp_bias": False, "sliding_window": None, "layer_types": ["full_attention"] * 2}
    return {
        **config,
        "sliding_window": 128,
        "layer_types": ["sliding_attention", "full_attention"],
        "swiglu_limit": 7.0,
        "router_aux_loss_coef": 0.9,
        "output_router_logits": False,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 32.0,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "truncate": False,
            "original_max_position_embeddings": 4096,
        },
    }


def _tokenizer() -> dict[str, Any]:
    """The tokenizer as the `tokenizers` library reads it: byte-level BPE with merges found from ranks."""
    letters = _byte_letters()
    by_rank = token_bytes_by_rank()
    ranks = {text: rank for rank, text in enumerate(by_rank)}

    def spell(text: bytes) -> str:
        return "".join(letters[byte] for byte in text)

    merges = [
        [spell(first), spell(second)]
        for rank, text in enumerate(by_rank)
        if len(text) > 1
        for first, second in [_halves(text, rank, ranks)]
        if second
    ]
    special = [
        {
            "id": token_id,
            "content": vocab.token_bytes(token_id).decode(),
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for token_id in range(TEXT_TOKENS, vocab.VOCABULARY_SIZE)
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": _SPLIT}, "behavior": "Isolated", "invert": False},
                byte_level,
            ],
        },
        "post_processor": byte_level,
        "decoder": {**byte_level, "add_prefix_space": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {spell(text): rank for rank, text in enumerate(by_rank)},
            "merges": merges,
        },
    }


def _halves(text: bytes, rank: int, ranks: dict[bytes, int]) -> tuple[bytes, bytes]:
    """The two tokens that merge into this one: merge by rank until two parts remain."""
    parts = [text[place : place + 1] for place in range(len(text))]
    while len(parts) > 2:
        best, at = rank, -1
        for place in range(len(parts) - 1):
            candidate = ranks.get(parts[place] + parts[place + 1], rank)
            if candidate < best:
                best, at = candidate, place
        if at < 0:
            return text, b""
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts[0], parts[1]


def _byte_letters() -> list[str]:
    """One printable character per byte, in the order that byte-level tokenizers use."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spare = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(spare)) for byte in range(256)]


def _write(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(_json(value), encoding="utf-8")


def _write_again(path: Path, value: Mapping[str, Any]) -> None:
    """Update a file of an earlier version of the lab; atomic, because a server may be reading it."""
    if path.exists() and path.read_text(encoding="utf-8") == _json(value):
        return
    partial = path.with_suffix(".part")
    _write(partial, value)
    partial.replace(path)


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"
