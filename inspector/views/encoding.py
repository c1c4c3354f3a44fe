"""What the browser receives, as JSON."""

import json

import msgspec


def json_bytes(value: object) -> bytes:
    """JSON in UTF-8; a text with lone surrogates, which no UTF-8 has, as escapes in ASCII."""
    try:
        return msgspec.json.encode(value)
    except ValueError:  # UnicodeEncodeError
        return json.dumps(value, separators=(",", ":")).encode()
