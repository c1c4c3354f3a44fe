"""A GGUF file (version 3) of a tiny model whose weights are all zero, with the lab's tokenizer.

Layout, little-endian: magic, version, number of tensors, number of keys; the keys, each with its type;
the tensors' names, shapes and offsets; padding to 32 bytes; their data.
Source: docs/gguf.md of ggml, and the keys that llama.cpp 0.7.0 reads for the architecture `llama`.
"""

import json
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

from inspector.capture.errors import LabError
from inspector.protocol.harmony import vocab

ALIGNMENT: Final = 32
WIDTH: Final = 32
"""Of the one layer and its one head."""
CONTEXT: Final = 8192

_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
_F32, _F16 = 0, 1
_ITEM_BYTES: Final = {_F32: 4, _F16: 2}
_TEXT_TOKEN, _CONTROL_TOKEN = 1, 3

TEMPLATE: Final = (
    "{%- if tools -%}<|start|>developer<|message|># Tools\n\nnamespace functions {\n"
    "{%- for tool in tools -%}type {{ tool.function.name }} = (_: "
    "{{ tool.function.parameters | tojson }}) => any;\n{%- endfor -%}\n}<|end|>{%- endif -%}"
    "{%- for message in messages -%}"
    "{%- if message.role == 'tool' -%}<|start|>functions.{{ message.name }} to=assistant"
    "<|channel|>commentary<|message|>{{ message.content }}<|end|>"
    "{%- elif message.role == 'assistant' -%}"
    "{%- if message.thinking -%}<|start|>assistant<|channel|>analysis<|message|>{{ message.thinking }}<|end|>"
    "{%- endif -%}"
    "{%- for call in message.tool_calls or [] -%}<|start|>assistant to=functions.{{ call.function.name }}"
    "<|channel|>commentary json<|message|>{{ call.function.arguments | tojson }}<|call|>{%- endfor -%}"
    "{%- if message.content -%}<|start|>assistant<|channel|>final<|message|>{{ message.content }}<|end|>"
    "{%- endif -%}"
    "{%- else -%}<|start|>{{ message.role }}<|message|>{{ message.content }}<|end|>{%- endif -%}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|start|>assistant{%- endif -%}"
)
"""llama.cpp takes its gpt-oss parser because of `<|channel|>`."""


def tensors() -> Mapping[str, tuple[int, tuple[int, ...]]]:
    """Name to type and shape; the first number of a shape is that of the fastest axis."""
    square = (_F16, (WIDTH, WIDTH))
    norm = (_F32, (WIDTH,))
    return {
        # The output matrix is absent: llama.cpp then takes this one.
        "token_embd.weight": (_F16, (WIDTH, vocab.VOCABULARY_SIZE)),
        "output_norm.weight": norm,
        "blk.0.attn_norm.weight": norm,
        **{f"blk.0.attn_{part}.weight": square for part in ("q", "k", "v", "output")},
        "blk.0.ffn_norm.weight": norm,
        **{f"blk.0.ffn_{part}.weight": square for part in ("gate", "up", "down")},
    }


def keys(tokenizer: Mapping[str, Any]) -> Iterator[tuple[str, int, Any]]:
    """Name, type and value of each key, from the lab's tokenizer.json."""
    words: dict[str, int] = tokenizer["model"]["vocab"]
    special = {token["id"]: token["content"] for token in tokenizer["added_tokens"]}
    tokens = [*sorted(words, key=words.__getitem__), *(special[token_id] for token_id in sorted(special))]
    yield "general.architecture", _STRING, "llama"
    yield "general.name", _STRING, "gpt-oss-tiny"
    yield "general.file_type", _UINT32, 1
    for name, number in {
        "context_length": CONTEXT,
        "embedding_length": WIDTH,
        "block_count": 1,
        "feed_forward_length": WIDTH,
        "attention.head_count": 1,
        "attention.head_count_kv": 1,
        "rope.dimension_count": WIDTH,
        "vocab_size": len(tokens),
    }.items():
        yield f"llama.{name}", _UINT32, number
    yield "llama.attention.layer_norm_rms_epsilon", _FLOAT32, 1e-5
    yield "tokenizer.ggml.model", _STRING, "gpt2"
    yield "tokenizer.ggml.pre", _STRING, "gpt-4o"
    yield "tokenizer.ggml.tokens", _ARRAY, tokens
    types = [_TEXT_TOKEN] * len(words) + [_CONTROL_TOKEN] * len(special)
    yield "tokenizer.ggml.token_type", _ARRAY, types
    yield "tokenizer.ggml.merges", _ARRAY, [" ".join(pair) for pair in tokenizer["model"]["merges"]]
    yield "tokenizer.ggml.eos_token_id", _UINT32, int(vocab.Marker.RETURN)
    yield "tokenizer.ggml.add_bos_token", _BOOL, False
    yield "tokenizer.chat_template", _STRING, TEMPLATE


def make_gguf(model: Path) -> Path:
    """Write `model.gguf` (21 MB) into the folder of a model of the lab, unless it is there; its path."""
    path = model / "model.gguf"
    if path.exists():
        return path
    tokenizer = json.loads((model / "tokenizer.json").read_text(encoding="utf-8"))
    partial = path.with_suffix(".part")
    with partial.open("wb") as file:
        write_gguf(file, list(keys(tokenizer)), tensors())
    partial.replace(path)
    return path


def write_gguf(
    file: BinaryIO,
    entries: Sequence[tuple[str, int, Any]],
    shapes: Mapping[str, tuple[int, tuple[int, ...]]],
) -> None:
    """Write keys and zero tensors."""
    file.write(struct.pack("<4sIQQ", b"GGUF", 3, len(shapes), len(entries)))
    for name, kind, value in entries:
        file.write(_string(name) + struct.pack("<I", kind) + _value(kind, value))
    offset = 0
    for name, (kind, shape) in shapes.items():
        file.write(_string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset))
        offset = _aligned(offset + math.prod(shape) * _ITEM_BYTES[kind])
    file.truncate(_aligned(file.tell()) + offset)  # the rest of the file is zeros


def _aligned(place: int) -> int:
    return -(-place // ALIGNMENT) * ALIGNMENT


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _value(kind: int, value: Any) -> bytes:
    match kind:
        case _ if kind == _STRING:
            return _string(value)
        case _ if kind == _ARRAY:
            items = list(value)
            if isinstance(items[0], str):
                return struct.pack("<IQ", _STRING, len(items)) + b"".join(map(_string, items))
            return struct.pack(f"<IQ{len(items)}i", _INT32, len(items), *items)
        case _ if kind in _FORMATS:
            return struct.pack(_FORMATS[kind], value)
    raise LabError(f"no GGUF value of type {kind} is written here")


_FORMATS: Final = {_UINT32: "<I", _FLOAT32: "<f", _BOOL: "<?"}
