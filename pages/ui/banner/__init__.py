"""What happened to a capture: a headline, whose fault it is, what differs, what repairs it, and its facts.

Drawn with `textContent` only: the words may quote a server or a model.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, urlsplit

import streamlit as st

import inspector
from inspector import Code, Inspection, Level, dashboard
from inspector.dashboard import Fix, Prompt, duration, figures, headline_with_prompt, number, plural
from pages.ui.assets import sheet
from pages.ui.fields import Part
from pages.ui.modules import loader
from pages.ui.state import Session

__all__ = ["FactRow", "banner", "facts", "sentence_banner", "times"]

FactRow: TypeAlias = Sequence[tuple[str, str, str]]
"""Facts in one line: words before, the value, words after."""

_ROWS_SHOWN: Final = 4
_WARNINGS_SHOWN: Final = 2
_TEXT_SHOWN: Final = 60
"""Characters of a text that are shown, after which it is folded."""
_AROUND: Final = 30
"""Characters beside a difference that are shown."""
_DIFFERENCE_SHOWN: Final = 80
_PAGES: Final = {"matrix": "matrix.py"}
"""Pages that a fix leads to."""

_component = st.components.v2.component(
    "inspector_banner",
    html='<div class="banner"></div>',
    css=sheet("fields/stretch.css", "banner/banner.css"),
    js=loader("ui/banner/banner.js"),
)


def banner(
    inspection: Inspection,
    *,
    key: str,
    choice: int = 0,
    chips: tuple[FactRow, FactRow] | None = None,
    prompt: Prompt | None = None,
    rows: Iterable[Mapping[str, Any]] = (),
    notes: Sequence[str] = (),
    session: Session | None = None,
    example: bool = False,
) -> None:
    """Draw the summary of one choice, its facts, `notes` and what reading the file lost.

    `chips` are `facts` and `times` if they were computed before; `prompt` is the one that the page shows
    below; `rows` are those of `fields.parts`, of which the differing ones are drawn. With a `session` there
    are buttons; of an `example` there is no server to check. Where something is wrong, the proof, the times,
    `notes` and the thread of the known issue are folded.
    """
    summed = dashboard.summary(inspection, inspection.reading.choices[choice])
    severities = (difference.severity for difference in prompt.differences) if prompt else ()
    shown, timed = (facts(inspection, choice), times(inspection, choice)) if chips is None else chips
    more = " ".join(fix.words.lstrip("·, ") for fix in summed.fixes if fix.folded)
    folds = bool(summed.proof or more)
    threads = [fix for fix in summed.fixes if (fix.url or "").startswith("https://")] if folds else []
    others = [f"Less likely: {'; '.join(summed.others)}."] if summed.others else []
    wanted = sentence_banner(
        summed.level,
        headline_with_prompt(summed, severities),
        summed.fault.removesuffix(summed.proof).rstrip(),
        shown if folds else [*shown, *timed],
        blame=summed.blame,
        rows=rows,
        fixes=[fix for fix in summed.fixes if not fix.folded and fix not in threads],
        decided=summed.decided,
        notes=[
            *(dashboard.prompt_warnings(prompt)[:_WARNINGS_SHOWN] if prompt else ()),
            *(() if folds else (*others, *notes)),
            *inspection.notes,
        ],
        details=_Details(timed, [*filter(None, (summed.proof, more)), *others, *notes], threads)
        if folds
        else None,
        report=_report(inspection, key) if session is not None and summed.level is not Level.CLEAN else None,
        checks=not example,
        source=" (read from the text)" if _by_text(inspection, choice) else "",
        key=key,
    )
    if session is None or wanted is None:
        return
    match wanted.partition(" "):
        case ("report", _, _):
            st.session_state[f"{key}_report"] = inspection.name
            st.rerun()
        case ("check", _, _):
            # Not by the address: another web page could choose whom the form asks for models.
            run = dashboard.registry().get(inspection.name.removesuffix(".jsonl"))
            if run is not None and run.address:
                st.session_state["probe_address"] = run.address
            st.switch_page("probe.py")
        case ("page", _, address) if (link := urlsplit(address)).path in _PAGES:
            st.switch_page(_PAGES[link.path], query_params=parse_qsl(link.query))


def _by_text(inspection: Inspection, choice: int) -> bool:
    """Whether only a delivered text says what the model wrote."""
    index = inspection.reading.choices[choice].index
    return any(
        finding.choice == index and finding.code is Code.TRANSCRIPT_UNPARSED
        for finding in inspection.findings
    )


def _report(inspection: Inspection, key: str) -> str:
    """The bug report once it was asked for; making it takes time."""
    if st.session_state.get(f"{key}_report") != inspection.name:
        return ""
    return inspector.markdown_report(inspection)


class _Details(NamedTuple):
    """What is folded."""

    times: FactRow
    sentences: Sequence[str]
    threads: Sequence[Fix]


def sentence_banner(
    level: Level,
    sentence: str,
    why: str,
    facts: FactRow,
    *,
    key: str,
    blame: str = "",
    rows: Iterable[Mapping[str, Any]] = (),
    fixes: Sequence[Fix] = (),
    decided: bool = True,
    notes: Sequence[str] = (),
    details: _Details | None = None,
    report: str | None = None,
    checks: bool = True,
    source: str = "",
) -> str | None:
    """Draw any judgement: a sentence with its level, reason and facts (words, value, words).

    `blame` is the sentence that the reason begins with, which stands out.
    Returns what a button asks for. Without a `report`, an empty one included, there are no buttons; `checks`
    adds the one that checks the server.
    """
    wrong = [row for row in rows if row["equal"] is False]
    result = _component(
        key=key,
        # In a list: Streamlit looks for data frames in an object, and imports pandas for that.
        data=[
            {
                "level": str(level),
                "sentence": sentence,
                "blame": blame,
                "why": why.removeprefix(blame),
                "rows": [
                    {
                        "field": row["label"],
                        "left": _shortened(row["left"]),
                        "right": _shortened(row["right"]),
                    }
                    for row in wrong[:_ROWS_SHOWN]
                ],
                "source": source,
                "more": max(0, len(wrong) - _ROWS_SHOWN),
                "fixes": [[fix.text, fix.url, fix.command] for fix in fixes],
                "decided": decided,
                "facts": [list(fact) for fact in facts],
                "notes": list(notes),
                "details": None
                if details is None
                else {
                    "facts": [list(fact) for fact in details.times],
                    "sentences": list(details.sentences),
                    "threads": [[thread.text, thread.url] for thread in details.threads],
                },
                "report": report,
                "checks": checks,
            }
        ],
        on_wanted_change=lambda: None,
    )
    wanted = result.get("wanted")
    return wanted if isinstance(wanted, str) else None


def _shortened(pieces: Sequence[Part] | None) -> list[Part] | None:
    """Parts of a text without what lies far from its first differences."""
    if pieces is None:
        return None
    short: list[Part] = []
    size = 0
    for place, (style, text) in enumerate(pieces):
        if size > _TEXT_SHOWN:
            return [*short, ("fold", "")]
        kept = [(style, text)]
        if style == "mark" and len(text) > _DIFFERENCE_SHOWN:
            kept = [(style, text[:_DIFFERENCE_SHOWN]), ("fold", "")]
        elif style == "same" and len(text) > 3 * _AROUND:
            before, after = place > 0, place < len(pieces) - 1
            head = [("same", text[:_AROUND])] if before or not after else []
            kept = [*head, ("fold", ""), *([("same", text[-_AROUND:])] if after else [])]
        short += kept
        size += sum(len(part) for _, part in kept)
    return short


def facts(inspection: Inspection, choice: int = 0) -> FactRow:
    """The server, the endpoint and the size of a response."""
    reading = inspection.reading
    choice_reading = reading.choices[choice]
    counted = figures(reading, choice_reading)
    version = reading.server_version
    engine = reading.engine.label
    releases = bool(reading.engine.program)
    chips = [
        (engine, version, "")
        if version
        else (f"{engine} version", "unknown", "")
        if releases
        else ("", reading.server_label, "")
    ]
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
    return chips


def times(inspection: Inspection, choice: int = 0) -> FactRow:
    """How fast a response came, and why it ended."""
    choice_reading = inspection.reading.choices[choice]
    if not inspection.reading.spec.delivers:
        return []
    counted = figures(inspection.reading, choice_reading)
    chips: list[tuple[str, str, str]] = []
    if counted.first_token_s is not None:
        chips.append(("first token", duration(counted.first_token_s), ""))
    if counted.tokens_per_s is not None:
        chips.append(("", number(counted.tokens_per_s), "tokens/s"))
    if choice_reading.finish_reason is not None:
        chips.append(("finish_reason", choice_reading.finish_reason, ""))
    return chips
