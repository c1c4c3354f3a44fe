"""Values from JSON as the type that is wanted, or nothing: a server may send any type under any key."""

from collections.abc import Mapping


def as_string(value: object) -> str | None:
    """A string; None for any other value."""
    return value if isinstance(value, str) else None


def as_int(value: object) -> int | None:
    """A whole number; None for any other value, also for true and false."""
    return value if type(value) is int else None


def as_object(value: object) -> Mapping[str, object]:
    """An object; empty for any other value."""
    return value if isinstance(value, dict) else {}
