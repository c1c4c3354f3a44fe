"""Times, counts, cut texts and lists for people; `pages/ui/numbers.js` does the same in the browser.

`tests/capture/formats.json` is the table of cases for both.
"""

from collections.abc import Sequence

_SECONDS_FROM = 10.0
_MINUTES_FROM = 600.0
_TENTHS_BELOW_MS = 9.95  # larger values would be rounded to 10.0
_SHOWN_FROM_MS = 0.05


def number(value: float, digits: int = 0) -> str:
    """A number with thousands separators, e.g. `131,072`."""
    return f"{value:,.{digits}f}"


def plural(amount: int, singular: str, many: str | None = None) -> str:
    """Singular or plural of a word, e.g. `token`, `tokens`."""
    return singular if amount == 1 else many or f"{singular}s"


def count(amount: int, singular: str, many: str | None = None) -> str:
    """A number of things, e.g. `1 token`, `2,048 tokens`."""
    return f"{number(amount)} {plural(amount, singular, many)}"


def duration(seconds: float | None, unknown: str = "unknown") -> str:
    """A time: milliseconds below ten seconds, then seconds, and minutes from ten minutes on."""
    if seconds is None:
        return unknown
    if 0 <= seconds * 1000 < _SHOWN_FROM_MS:
        return "<0.1 ms" if seconds else "0 ms"
    if seconds * 1000 < _TENTHS_BELOW_MS:
        return f"{number(seconds * 1000, 1)} ms"
    return f"{number(seconds * 1000)} ms" if seconds < _SECONDS_FROM else _longer(seconds)


def fine_duration(seconds: float | None, unknown: str = "unknown") -> str:
    """A time to compare with others, with tenths of milliseconds."""
    if seconds is None:
        return unknown
    return f"{number(seconds * 1000, 1)} ms" if seconds < _SECONDS_FROM else _longer(seconds)


def rounded_duration(seconds: float) -> str:
    """A time that is an estimate: whole seconds, and minutes from ten minutes on."""
    return f"{seconds:.0f} s" if seconds < _MINUTES_FROM else _longer(seconds)


def _longer(seconds: float) -> str:
    return f"{number(seconds, 1)} s" if seconds < _MINUTES_FROM else f"{number(seconds / 60)} min"


def figure(value: float | None, unit: str = "", unknown: str = "unknown") -> str:
    """A metric: a time to compare if the unit is `s`; other units are in the label."""
    if value is None:
        return unknown
    if unit == "s":
        return fine_duration(value)
    return number(value, 1 if isinstance(value, float) else 0)


def clip(text: str, limit: int) -> str:
    """A text of at most `limit` characters; one that is longer ends in an ellipsis."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def in_utf8(text: str, limit: int) -> str:
    """The first characters of a text that any receiver can store: without halves of surrogate pairs."""
    return text[:limit].encode("utf-8", "replace").decode("utf-8")


def clip_counted(text: str, limit: int) -> str:
    """The first `limit` characters of a text, and how many it has."""
    return text if len(text) <= limit else f"{text[:limit]} … ({count(len(text), 'character')})"


def listed(words: Sequence[str], joint: str = "and") -> str:
    """Words as a sentence lists them, e.g. `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {joint} {words[-1]}"
