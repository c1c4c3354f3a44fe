"""Beside the grid: what is selected in it, and what changed from one release to another."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Final

import streamlit as st

from inspector import Endpoint
from inspector.analysis.audit.kinds import kind_label
from inspector.matrix.changes import change_sentence, shifts, twin_of
from inspector.matrix.headline import release_name
from inspector.matrix.receivers import Receivers
from inspector.matrix.results import MatrixRun, Receiver, ScriptOutcome, capture_name
from inspector.matrix.scripts import Script
from inspector.matrix.servers import SERVERS as LAB_SERVERS
from pages.parts.matrix import choosing
from pages.ui import pickers

MEANINGS: Final = {
    Receiver.SERVER: {
        ScriptOutcome.COMPLETE: "everything was delivered in its field",
        ScriptOutcome.REPORTED: "the client could see the failure",
        ScriptOutcome.SILENT: "text was lost, changed or misfiled without any error",
    },
    Receiver.GATEWAY: {
        ScriptOutcome.COMPLETE: "the client gets what the server sent",
        ScriptOutcome.REPORTED: "the client gets an error that the server did not send",
        ScriptOutcome.SILENT: "text, or the end of the response, is another one",
    },
    Receiver.CLIENT: {
        ScriptOutcome.COMPLETE: "the client has all that was delivered",
        ScriptOutcome.REPORTED: "the client says what happened",
        ScriptOutcome.SILENT: "the client fails, or lacks delivered text",
    },
}
"""What outcomes mean, by where they were measured."""


_ENGINES: Final = {
    "cpu": "Measured with the release's own engine, on the CPU.",
    "gpu": "Measured with the release's own engine, on a GPU.",
    "stand-in": "Measured with the release's own front end on the lab's stand-in engine.",
}


def _measured(run: MatrixRun) -> str:
    """With which engine, and what to know of the server's configuration."""
    server = LAB_SERVERS.get(run.front_end)
    if server is None:
        return _ENGINES[run.engine]
    return f"Measured with the release's own server on an engine of the lab. {server.note}".strip()


def legend(receiver: Receiver) -> str:
    """What the signs in the cells mean."""
    signs = [f"{outcome.sign} {receiver.words(outcome)}" for outcome in ScriptOutcome]
    keys = [*signs, "a number counts the worst", "– not run"]
    return " · ".join([*keys, r"\* some not run, or with other tokens than the script's"])


def cell(
    run: MatrixRun,
    endpoint: Endpoint,
    script: Script,
    runs: Sequence[MatrixRun],
    receivers: Receivers,
) -> None:
    """The outcome of a script on a release, with a link to its capture; `runs` are the whole matrix."""
    score = run.scores.get((endpoint, script.name))
    st.header(f"{script.name} on {release_name(run)}", anchor=False)
    st.text(script.sentence)
    if score is None:
        st.text("Not recorded.")
        return
    st.text(f"{score.outcome.sign} {score.outcome.words}: {MEANINGS[Receiver.SERVER][score.outcome]}")
    for difference in score.differences:
        st.code(difference, language=None, wrap_lines=True)
    if score.sampler:
        st.text(f"* Not the script's tokens: {score.sampler}. The outcome is that of the tokens sampled.")
    twin = twin_of(run, runs)
    twin_score = twin.scores.get((endpoint, script.name)) if twin is not None else None
    if twin_score is not None:
        request = "The same request, not streamed" if run.streamed else "The same request, streamed"
        st.text(f"{request}: {twin_score.outcome.sign} {twin_score.outcome.words}.")
    name = capture_name(run, endpoint, script.name)
    for received in receivers.of_capture(name, [run]):
        with st.container(horizontal=True, gap="small"):
            st.text(received.words, width="content")
            if received.sent_on:
                sides = {"left": name, "right": received.sent_on}
                st.page_link("compare.py", label="Compare both sides", query_params=sides)
    if score.kinds:
        st.caption(f"Findings: {', '.join(map(kind_label, score.kinds))}")
    st.caption(_measured(run))
    st.page_link(
        "replay.py",
        label="Open in Replay",
        icon=":material/play_circle:",
        query_params={"capture": name},
    )


def comparison(title: str, columns: Mapping[str, MatrixRun], endpoint: Endpoint, script: Script) -> None:
    """Offer another column's capture of the same script, and open both on the Compare page."""
    run = columns[title]
    candidates = {
        name: column
        for name, column in columns.items()
        if name != title and (endpoint, script.name) in column.scores
    }
    if (endpoint, script.name) not in run.scores or not candidates:
        return

    def words(name: str) -> str:
        outcome = candidates[name].scores[endpoint, script.name].outcome
        return f"{release_name(candidates[name])}: {outcome.sign} {outcome.words}"

    chosen = st.selectbox(
        "Compare with",
        list(candidates),
        index=None,
        format_func=words,
        placeholder="another release",
        key=f"matrix_compare_{endpoint.value}_{script.name}_{run.name}",
    )
    if chosen is not None:
        pickers.compare(*(capture_name(side, endpoint, script.name) for side in (run, columns[chosen])))


def release(run: MatrixRun, endpoint: Endpoint, names: Collection[str]) -> None:
    """What a release does with the scripts of these names."""
    st.header(release_name(run), anchor=False)
    outcomes = [score.outcome for key, score in run.scores.items() if key[0] is endpoint and key[1] in names]
    for outcome, meaning in MEANINGS[run.receiver].items():
        st.text(
            f"{outcome.sign} {outcomes.count(outcome)} of {len(outcomes)} {run.words(outcome)}: {meaning}"
        )
    st.caption(_measured(run))


def changes(columns: Mapping[str, MatrixRun], endpoint: Endpoint, names: Collection[str]) -> None:
    """What changed from one release to another for these scripts: a sentence, and their pairs."""
    if len(columns) < 2:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="matrix_changes"):
        st.markdown("**What changed**", width="content")
        before, after = choosing.choose_pair(list(columns), _last_change(columns, endpoint, names))
        older, newer = columns[before], columns[after]
        changed = shifts(older, newer, endpoint, names)
        st.text(change_sentence(older, newer, changed))
    for shift in changed:
        with (
            st.expander(f"{'↑' if shift.better else '↓'} {shift}", expanded=len(changed) == 1),
            st.container(horizontal=True, gap="small"),
        ):
            for name in shift.scripts:
                sides = (capture_name(run, endpoint, name) for run in (older, newer))
                st.page_link(
                    "compare.py", label=name, query_params=dict(zip(("left", "right"), sides, strict=True))
                )


def _last_change(
    columns: Mapping[str, MatrixRun], endpoint: Endpoint, names: Collection[str]
) -> tuple[str, str]:
    """The newest two neighbours between which an outcome changed; the newest two where none did."""
    titles = list(columns)
    pairs = [(older, newer) for newer, older in pairwise(titles)]
    changed = (
        (older, newer) for older, newer in pairs if shifts(columns[older], columns[newer], endpoint, names)
    )
    return next(changed, pairs[0])
