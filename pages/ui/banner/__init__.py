"""What happened to a capture: a headline, whose fault it is, what differs, what repairs it, and its facts.

Drawn with `textContent` only: the words may quote a server or a model.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit

import streamlit as st

import inspector
from inspector import Code, Inspection, Level
from inspector.capture.formats import duration, number, plural
from inspector.net.runs.registry import registry
from inspector.views.audit_result import AuditResult
from inspector.views.differences import Differences
from inspector.views.summary import Fix, also_caused
from pages.ui.assets import sheet
from pages.ui.modules import loader
from pages.ui.state import Session

__all__ = ["FactRow", "banner", "follow", "sentence_banner"]

FactRow: TypeAlias = Sequence[tuple[str, str, str]]
"""Facts in one line: words before, the value, words after."""

_WARNINGS_SHOWN: Final = 2
_PAGES: Final = {"diagnose": "diagnose.py", "matrix": "matrix.py"}
"""Pages that a fix leads to."""

_component = st.components.v2.component(
    "inspector_banner",
    html='<div class="banner"></div>',
    css=sheet("fields/stretch.css", "banner/banner.css"),
    js=loader("ui/banner/banner.js"),
)


def banner(
    result: AuditResult,
    *,
    key: str,
    differ: Differences | None = None,
    session: Session | None = None,
    otherwise: Sequence[Fix] = (),
) -> None:
    """Draw what was found in one choice, its facts, and what reading the file lost.

    `differ` is where its texts do. With a `session` there are buttons, of which one checks the server of a
    run, whose address is known, and a link to all causes. Where something is wrong, the proof, the times,
    what a client may fail on and the thread of the known issue are folded. `otherwise` is what to do where no
    fix is known.
    """
    inspection, fixes, proof = result.inspection, result.fixes or otherwise, result.proof
    # Not by the address: another web page could choose whom the form asks for models.
    run = registry().get(inspection.name.removesuffix(".jsonl")) if session is not None else None
    server = run.address if run is not None else ""
    shown, timed = _facts(result), _times(result)
    more = " ".join(fix.words.lstrip("·, ") for fix in fixes if fix.folded)
    folds = bool(proof or more)
    threads = [fix for fix in fixes if (fix.url or "").startswith("https://")] if folds else []
    also = also_caused(result.examined)
    others = [
        f"{advice.issue.title} (match: {advice.answer.match})"
        for advice in result.examined.advice[1:]
        if advice not in also
    ]
    last = [result.readable] if result.readable else []
    if others and session is None:
        last.insert(0, f"Less likely: {'; '.join(others)}.")
    to_all = _to_all_causes(result, len(others)) if others and session is not None else []
    told_apart = to_all if result.alternatives or not folds else []
    prominent = [fix for fix in fixes if not (fix.folded or fix.command or fix in threads)]
    wanted = sentence_banner(
        result.level,
        result.headline_with_prompt,
        result.fault.removesuffix(proof).rstrip(),
        shown if folds else [*shown, *timed],
        blame=result.examined.verdict.blame,
        silent=result.silent,
        differ=differ,
        fixes=[*prominent, *told_apart],
        decided=not result.alternatives,
        notes=[*result.prompt_warnings[:_WARNINGS_SHOWN], *(() if folds else last), *inspection.notes],
        details=_Details(
            timed,
            [*filter(None, (proof, more)), *last],
            [*threads, *(() if told_apart else to_all)],
        )
        if folds
        else None,
        report=_report(inspection, key) if session is not None and result.level is not Level.CLEAN else None,
        checks=bool(server),
        source=" (read from the text)" if _by_text(result) else "",
        key=key,
    )
    if session is None or wanted is None:
        return
    match wanted.partition(" "):
        case ("report", _, _):
            st.session_state[f"{key}_report"] = inspection.name
            st.rerun()
        case ("check", _, _):
            st.session_state["probe_address"] = server
            st.switch_page("probe.py")
        case _:
            follow(wanted)


def _to_all_causes(result: AuditResult, others: int) -> list[Fix]:
    """The link to the Diagnose page, which has every cause with what settles it."""
    words = "Tell them apart" if result.alternatives else f"{others} other {plural(others, 'cause')}"
    return [Fix(text=words, url=f"diagnose?{urlencode({'capture': result.inspection.name})}")]


def follow(wanted: str | None) -> None:
    """Turn to the page that a fix leads to, if one was clicked."""
    match (wanted or "").partition(" "):
        case ("page", _, address) if (link := urlsplit(address)).path in _PAGES:
            if link.path == "diagnose":
                st.session_state["diagnose_kind"] = "Capture"
            st.switch_page(_PAGES[link.path], query_params=parse_qsl(link.query))


def _by_text(result: AuditResult) -> bool:
    """Whether only a delivered text says what the model wrote."""
    return any(
        finding.choice == result.choice.index and finding.code is Code.TRANSCRIPT_UNPARSED
        for finding in result.inspection.findings
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
    silent: bool = False,
    differ: Differences | None = None,
    fixes: Sequence[Fix] = (),
    decided: bool = True,
    notes: Sequence[str] = (),
    details: _Details | None = None,
    report: str | None = None,
    checks: bool = True,
    source: str = "",
) -> str | None:
    """Draw any judgement: a sentence with its level, reason and facts (words, value, words).

    `blame` is the sentence that the reason begins with, which stands out. What is `silent` has the colour of
    an error whatever its level.
    Returns what a button asks for. Without a `report`, an empty one included, there are no buttons; `checks`
    adds the one that checks the server.
    """
    result = _component(
        key=key,
        # In a list: Streamlit looks for data frames in an object, and imports pandas for that.
        data=[
            {
                "level": str(level),
                "silent": silent,
                "sentence": sentence,
                "blame": blame,
                "why": why.removeprefix(blame),
                "fields": [] if differ is None else [list(field) for field in differ.fields],
                "source": source,
                "more": 0 if differ is None else differ.more,
                "fixes": [[fix.text, fix.url] for fix in fixes],
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


def _facts(result: AuditResult) -> FactRow:
    """The server, the endpoint and the size of a response."""
    reading, tokens = result.inspection.reading, result.tokens
    chips = [("", "list of token IDs", "")]
    if reading.spec.delivers:
        chips = [("", reading.server_label, ""), ("", reading.spec.label, "")]
    if tokens.amount is not None:
        chips.append(("", number(tokens.amount), f"{plural(tokens.amount, 'token')}{tokens.source}"))
    return chips


def _times(result: AuditResult) -> FactRow:
    """How fast a response came, and why it ended."""
    if not result.inspection.reading.spec.delivers:
        return []
    chips: list[tuple[str, str, str]] = []
    if result.figures.first_token_s is not None:
        chips.append(("first token", duration(result.figures.first_token_s), ""))
    if result.figures.tokens_per_s is not None:
        chips.append(("", number(result.figures.tokens_per_s), "tokens/s"))
    if result.choice.finish_reason is not None:
        chips.append(("finish_reason", result.choice.finish_reason, ""))
    return chips
