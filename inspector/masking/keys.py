"""Keys of requests, events and JSON schemas, by what redaction does with their values."""

import re
from typing import Final

__all__ = [
    "CHOSEN_NAMES",
    "FIELD_OF_KEY",
    "IDS",
    "ID_SETS",
    "KEPT",
    "KEPT_OF_ERRORS",
    "KEPT_WORDS",
    "NAMES",
    "OF_USERS",
    "PARTS",
    "WORD",
]

KEPT: Final = frozenset(
    {
        "call_id",
        "effort",
        "encoding_format",
        "finish_reason",
        "id",
        "item_id",
        "kind",
        "model",
        "object",
        "owned_by",
        "phase",
        "previous_response_id",
        "reasoning_effort",
        "response_id",
        "role",
        "service_tier",
        "status",
        "system_fingerprint",
        "tool_call_id",
        "tool_choice",
        "truncation",
        "type",
        "verbosity",
    }
)
"""Keys whose words belong to the protocol."""
KEPT_OF_ERRORS: Final = KEPT | {"code"}
KEPT_WORDS: Final = {
    "detail": frozenset({"auto", "high", "low", "original"}),
    "reason": frozenset({"content_filter", "max_output_tokens", "stop"}),
}
"""Keys that are the protocol's with these words only."""
WORD: Final = re.compile(r"[\w.:/@+-]{0,100}", re.ASCII)
"""What may be such a word."""
NAMES: Final = frozenset({"name", "recipient", "channel", "content_type", "server_label", "valid_channels"})
IDS: Final = frozenset(
    {
        "input_ids",
        "output_ids",
        "output_token_ids",
        "prompt_ids",
        "prompt_token_ids",
        "response_token_ids",
        "script",
        "token_ids",
        "tokens",
    }
)
ID_SETS: Final = frozenset({"allowed_token_ids", "bad_words_token_ids", "stop_token_ids"})
CHOSEN_NAMES: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentRequired", "dependentSchemas"}
)
"""Under these keys of a JSON schema stand names that somebody chose."""
OF_USERS: Final = frozenset(
    {
        "arguments",
        "const",
        "default",
        "enum",
        "env",
        "example",
        "examples",
        "extra_args",
        "headers",
        "metadata",
        "variables",
        "vllm_xargs",
    }
)
"""Under these keys the names and words of JSON are a user's or a model's, not the protocol's."""
PARTS: Final = frozenset(
    {
        "action",
        "annotation",
        "choices",
        "content",
        "delta",
        "input_messages",
        "item",
        "message",
        "output",
        "output_messages",
        "part",
    }
)
"""Under these keys of an event stands what a model or a tool wrote; an error in it is not the server's."""
FIELD_OF_KEY: Final = {
    "reasoning": "reasoning",
    "reasoning_content": "reasoning",
    "content": "content",
    "name": ".name",
    "arguments": ".arguments",
    "code": ".code",
}
