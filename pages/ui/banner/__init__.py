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
    inspection: Inspection,
    *,
    key: str,
    choice: int = 0,
    chips: Sequence[tuple[str, str, str]] | None = None,
    prompt: Prompt | None = None,
) -> None:
    """Draw the verdict, its reason, the facts of one choice and what reading the file lost.

    `chips` are the facts if they were computed before; `prompt` is the one that the page shows below.
    """
    verdict = inspection.verdict
    sentence_banner(
        verdict.level,
        sentence_with_prompt(
            verdict, (difference.severity for difference in prompt.differences) if prompt else ()
        ),
        verdict.why,
        facts(inspection, choice) if chips is None else chips,
        known_issue=verdict.known,
        notes=inspection.notes,
        key=key,
    )


def sentence_banner(
    level: Level,
    sentence: str,
    why: str,
    facts: Sequence[tuple[str, str, str]],
    *,
    key: str,
    known_issue: str = "",
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
                "known": known_issue,
                "facts": [list(fact) for fact in facts],
                "notes": list(notes),
            }
        ],
    )


def facts(inspection: Inspection, choice: int = 0) -> Sequence[tuple[str, str, str]]:
    """Facts for the row of chips: words before, the value, words after."""
    reading = inspection.reading
    choice_reading = reading.choices[choice]
    counted = figures(reading, choice_reading)
    version = reading.server_version
    engine = reading.engine.label
    chips = [(engine, version, "") if version else (f"{engine} version", "unknown", "")]
    if not reading.spec.delivers:
        size = ("", number(counted.tokens), plural(counted.tokens, "token"))
        return [("", "list of token IDs", "no server"), size]
    chips.append(("", reading.spec.label, ""))
    if len(reading.choices) > 1:
        chips.append(("choice", str(choice_reading.index), f"of {len(reading.choices)}"))
    if choice_reading.has_ids:
        chips.append(("", number(counted.tokens), plural(counted.tokens, "token")))
    elif choice_reading.rebuilt is not None:
        amount = len(choice_reading.rebuilt.tokens)
        chips.append(("", number(amount), f"{plural(amount, 'token')}, reconstructed"))
    if counted.tokens_per_event_max > 1:
        chips.append(("up to", number(counted.tokens_per_event_max), "tokens per event"))
    elif counted.tokens_per_event_max == 1:
        chips.append(("", "1", "token per event"))
    if counted.first_token_s is not None:
        chips.append(("first token", duration(counted.first_token_s), ""))
    if counted.tokens_per_s is not None:
        chips.append(("", number(counted.tokens_per_s), "tokens/s"))
    chips.append(("evidence", choice_reading.evidence.words, ""))
    if choice_reading.finish_reason is not None:
        chips.append(("finish_reason", choice_reading.finish_reason, ""))
    return chips
