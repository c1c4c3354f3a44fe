"""The verdict of a capture in a sentence, why, and its facts; drawn with `textContent` only.

Not Markdown: the sentence may quote a server's or a model's words.
"""

from collections.abc import Sequence

import streamlit as st

from inspector import Inspection, Level
from inspector.dashboard import Prompt, duration, figures, number, plural, sentence_with_prompt
from pages.ui.assets import sheet
from pages.ui.modules import loader

__all__ = ["banner", "facts", "sentence_banner"]

_component = st.components.v2.component(
    "inspector_banner",
    html='<div class="banner"></div>',
    css=sheet("banner/banner.css"),
    js=loader("ui/banner/banner.js"),
)


def banner(
    seen: Inspection,
    *,
    key: str,
    choice: int = 0,
    known: Sequence[tuple[str, str, str]] | None = None,
    prompt: Prompt | None = None,
) -> None:
    """Draw the verdict, its reason, the facts of one choice and what reading the file lost.

    `known` are the facts when they were computed before; `prompt` is the one that the page shows below.
    """
    judged = seen.verdict
    sentence_banner(
        judged.level,
        sentence_with_prompt(judged, (one.severity for one in prompt.differences) if prompt else ()),
        judged.why,
        facts(seen, choice) if known is None else known,
        known=judged.known,
        notes=seen.notes,
        key=key,
    )


def sentence_banner(
    level: Level,
    sentence: str,
    why: str,
    facts: Sequence[tuple[str, str, str]],
    *,
    key: str,
    known: str = "",
    notes: Sequence[str] = (),
) -> None:
    """Draw any judgement: a sentence with its level, reason and facts (words, value, words)."""
    _component(
        key=key,
        # In a list: Streamlit looks for data frames in an object, and imports pandas for that.
        data=[
            {
                "level": str(level),
                "sentence": sentence,
                "why": why,
                "known": known,
                "facts": [list(fact) for fact in facts],
                "notes": list(notes),
            }
        ],
    )


def facts(seen: Inspection, choice: int = 0) -> Sequence[tuple[str, str, str]]:
    """Facts for the row of chips: words before, the value, words after."""
    reading = seen.reading
    one = reading.choices[choice]
    counted = figures(reading, one)
    version = reading.server_version
    engine = reading.engine.label
    found = [(engine, version, "") if version else (f"{engine} version", "unknown", "")]
    if not reading.spec.delivers:
        size = ("", number(counted.tokens), plural(counted.tokens, "token"))
        return [("", "list of token IDs", "no server"), size]
    found.append(("", reading.spec.label, ""))
    if len(reading.choices) > 1:
        found.append(("choice", str(one.index), f"of {len(reading.choices)}"))
    if one.has_ids:
        found.append(("", number(counted.tokens), plural(counted.tokens, "token")))
    elif one.rebuilt is not None:
        amount = len(one.rebuilt.tokens)
        found.append(("", number(amount), f"{plural(amount, 'token')}, reconstructed"))
    if counted.tokens_per_event_max > 1:
        found.append(("up to", number(counted.tokens_per_event_max), "tokens per event"))
    elif counted.tokens_per_event_max == 1:
        found.append(("", "1", "token per event"))
    if counted.first_token_s is not None:
        found.append(("first token", duration(counted.first_token_s), ""))
    if counted.tokens_per_s is not None:
        found.append(("", number(counted.tokens_per_s), "tokens/s"))
    found.append(("evidence", one.evidence.words, ""))
    if one.finish_reason is not None:
        found.append(("finish_reason", one.finish_reason, ""))
    return found
