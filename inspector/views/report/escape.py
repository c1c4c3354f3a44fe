"""Text from a model or server, made safe to share: nothing runs, nothing is invisible, keys are masked.

Control, bidi and other invisible characters are named. What looks like a key is masked; this is a net
under `redaction`, which works by names, and it knows the common forms only.
"""

import re
import unicodedata
from html import escape
from typing import Final

_KEYS: Final = re.compile(
    r"\b(?:sk|pk|rk|gsk|hf|ghp|gho|ghs|github_pat|glpat|xox[abprs])[-_][A-Za-z0-9_-]{12,}"
    r"|\bAKIA[A-Z0-9]{12,}"
    r"|\beyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*"
    r"|(?<=\bBearer )[^\s\"'\\]{8,}"
    r"|(?<=\bBasic )[A-Za-z0-9+/=]{12,}"
    r"|(?<=://)[^/\s:@]{1,256}:[^/\s@]{1,256}(?=@)"
)
"""OpenAI, Groq, Hugging Face, GitHub, GitLab, Slack and AWS keys, JSON web tokens, credentials in headers
and URLs. Bounded repetition, so hostile text costs no more than its length."""

_PLAIN: Final = frozenset("\n\t ")


def masked(text: str) -> str:
    """Text with everything masked that looks like a key."""
    return _KEYS.sub("[masked]", text)


def named(text: str) -> str:
    """Text with keys masked and invisible characters spelled as ⟨U+202E⟩; line feeds and tabs stay."""
    text = masked(text)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in _PLAIN else f"⟨U+{ord(char):04X}⟩" for char in text)


def html_text(text: str) -> str:
    """Text as HTML, with keys masked and invisible characters as marked names."""
    return "".join(map(_as_html, masked(text)))


def _as_html(char: str) -> str:
    if char.isprintable() or char in _PLAIN:
        return escape(char)
    name = unicodedata.name(char, "control character")
    return f'<b class="hidden" title="{escape(name)}">U+{ord(char):04X}</b>'


def code(text: str) -> str:
    """Text as inline Markdown code, on one line, whatever backticks it holds."""
    printable = named(text).replace("\n", "↵").replace("\t", "⇥")
    if not printable:
        return "(empty)"
    ticks = "`" * (_longest_run(printable) + 1)
    pad = " " if printable[0] in "` " or printable[-1] in "` " else ""
    return f"{ticks}{pad}{printable}{pad}{ticks}"


def fence(text: str, language: str = "") -> str:
    """Text as a Markdown code block that its own backticks cannot end."""
    printable = named(text)
    ticks = "`" * max(3, _longest_run(printable) + 1)
    return f"{ticks}{language}\n{printable}\n{ticks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
