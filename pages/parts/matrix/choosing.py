"""The pickers of the Matrix page: endpoint, step, front end and releases, kept in the URL."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import streamlit as st

from inspector import Endpoint, dashboard
from inspector.dashboard import MatrixRun, ScriptClass

ENDPOINTS: Final = (Endpoint.CHAT, Endpoint.RESPONSES, Endpoint.COMPLETIONS)

BOTH: Final = "both"

CLASSES: Final = {
    ScriptClass.TEXT: "text",
    ScriptClass.CALLS: "tool calls",
    ScriptClass.CUT: "cut off",
    ScriptClass.TOOLS: "server-side tools",
    ScriptClass.ENDS: "unusual ends of messages",
    ScriptClass.HEADERS: "unusual headers",
    ScriptClass.BODIES: "unusual bodies",
}
"""The classes of scripts, as the picker names them."""

_ALL: Final = "all"

_FRONT_ENDS: Final = {"python": "Python", "rust": "Rust", BOTH: "Both"}

_FIRST_STEP: Final = "3"
"""Shown first: the condition under which old releases lose text."""


class MatrixFilter(NamedTuple):
    """Which runs are shown, on which endpoint."""

    endpoint: Endpoint
    step: str
    front_end: str
    """`python`, `rust` or `both`."""
    oldest: str
    newest: str


def choose(runs: Sequence[MatrixRun]) -> MatrixFilter:
    """Draw the pickers."""
    # Set here and not by the widgets' own binding, which prevents leaving the page by a button.
    kept = st.query_params
    endpoint = _pick(
        "Endpoint", {endpoint.value: endpoint.value for endpoint in ENDPOINTS}, kept.get("endpoint")
    )
    steps = list(dict.fromkeys(run.step for run in sorted(runs, key=lambda run: run.stream_interval or 99)))
    step = _pick(
        "Tokens per step",
        {step: _step_words(step) for step in steps},
        kept.get("interval"),
        first=_FIRST_STEP,
    )
    made = {run.front_end for run in runs}
    names = {name: words for name, words in _FRONT_ENDS.items() if name in made or made >= {"python", "rust"}}
    front_end = _pick("Front end", names, kept.get("front_end")) if len(names) > 1 else next(iter(names))
    versions = list(dict.fromkeys(run.version for run in _of(runs, step, front_end)))
    oldest, newest = _range(versions, kept.get("from"), kept.get("to"))
    kept.update({"endpoint": endpoint, "interval": step, "front_end": front_end})
    for name, version, default in (("from", oldest, versions[:1]), ("to", newest, versions[-1:])):
        if [version] == default:
            kept.pop(name, None)
        else:
            kept[name] = version
    return MatrixFilter(Endpoint(endpoint), step, front_end, oldest, newest)


def choose_class() -> ScriptClass | None:
    """Draw the picker of the class of script; None for all of them."""
    kept = st.query_params
    names = [_ALL, *(script_class.value for script_class in CLASSES)]
    linked = kept.get("class", _ALL)
    chosen: str = st.selectbox(
        "Class of script",
        names,
        index=names.index(linked) if linked in names else 0,
        format_func=lambda name: CLASSES[ScriptClass(name)] if name != _ALL else _ALL,
        key="matrix class",
        width=220,
    )
    if chosen == _ALL:
        kept.pop("class", None)
        return None
    kept["class"] = chosen
    return ScriptClass(chosen)


def choose_rows() -> tuple[str, bool]:
    """Draw the filter of the scripts: words, and whether only those in which releases differ are shown."""
    kept = st.query_params
    words = st.text_input(
        "Filter scripts",
        kept.get("filter", ""),
        placeholder="tool, emoji, assistantary",
        key="matrix filter",
        width=240,
    )
    differing = st.toggle("Only where releases differ", "differing" in kept, key="matrix differing")
    for name, value in (("filter", words), ("differing", "yes" if differing else "")):
        if value:
            kept[name] = value
        else:
            kept.pop(name, None)
    return words, differing


def columns(runs: Sequence[MatrixRun], chosen: MatrixFilter) -> dict[str, MatrixRun]:
    """The chosen runs by the title of their column, oldest first."""
    matching = _of(runs, chosen.step, chosen.front_end)
    versions = list(dict.fromkeys(run.version for run in matching))
    if chosen.oldest not in versions or chosen.newest not in versions:
        return {}
    inside = versions[versions.index(chosen.oldest) : versions.index(chosen.newest) + 1]
    return {dashboard.column_label(run): run for run in matching if run.version in inside}


def _step_words(step: str) -> str:
    return "not streamed" if step == dashboard.UNSTREAMED else step


def _of(runs: Sequence[MatrixRun], step: str, front_end: str) -> list[MatrixRun]:
    chosen = [run for run in runs if run.step == step and front_end in (BOTH, run.front_end)]
    return dashboard.unique_runs(chosen)


def _pick(label: str, options: dict[str, str], kept: str | None, *, first: str = "") -> str:
    names = list(options)
    default = kept if kept in options else first if first in options else names[0]
    chosen: str = st.segmented_control(
        label,
        names,
        default=default,
        required=True,
        format_func=lambda name: options[name],
        key=f"matrix {label}",
    )
    return chosen


def _range(versions: Sequence[str], oldest: str | None, newest: str | None) -> tuple[str, str]:
    if not versions:
        return "", ""
    if len(versions) == 1:
        return versions[0], versions[0]
    start = oldest if oldest in versions else versions[0]
    end = newest if newest in versions else versions[-1]
    if versions.index(start) > versions.index(end):
        start, end = end, start
    chosen = st.select_slider(
        "Releases",
        versions,
        value=(start, end),
        key=f"matrix releases {versions[0]} {versions[-1]}",
        width=260,
    )
    return str(chosen[0]), str(chosen[1])
