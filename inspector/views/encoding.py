"""JSON for the browser."""

import json

import msgspec


def json_bytes(value: object) -> bytes:
    """JSON in UTF-8, or in ASCII with escapes if a text has lone surrogates, which UTF-8 cannot encode."""
    try:
        return msgspec.json.encode(value)
    except ValueError:  # UnicodeEncodeError
        return json.dumps(value, separators=(",", ":")).encode()
