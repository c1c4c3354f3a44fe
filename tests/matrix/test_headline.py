"""The matrix in one sentence, which says what its cells show."""

import re
from collections.abc import Sequence

import pytest

from inspector.capture.capture import Endpoint
from inspector.matrix.headline import Headline, column_label, matrix_headline
from inspector.matrix.results import MatrixRun, ScriptOutcome, every_run, unique_runs
from inspector.matrix.scripts import ScriptClass, load
from inspector.matrix.table import matrix_table, totals

RUNS = unique_runs(every_run())
NEWEST_FIRST = list(reversed(RUNS))
STEPS = ("1", "3", "ragged", "unstreamed")


def releases(front_end: str, step: str) -> list[MatrixRun]:
    return [run for run in NEWEST_FIRST if (run.front_end, run.step) == (front_end, step)]


def headline(runs: Sequence[MatrixRun], *, words: str = "", opened: ScriptClass | None = None) -> Headline:
    table = matrix_table(runs, load(), Endpoint.CHAT, words=words)
    return matrix_headline(table, runs, opened=opened, filtered=bool(words))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("endpoint", [Endpoint.CHAT, Endpoint.RESPONSES, Endpoint.COMPLETIONS])
@pytest.mark.parametrize("front_end", ["python", "rust", "sglang-rust", "llama-server"])
def test_every_number_and_release_is_that_of_a_cell(front_end: str, endpoint: Endpoint, step: str) -> None:
    runs = releases(front_end, step)
    table = matrix_table(runs, load(), endpoint) if runs else []
    checked = {group.script_class: group.rows for group in table}
    for opened in (None, *checked):
        sentence = matrix_headline(table, runs, opened=opened).sentence
        rows = checked[opened] if opened else [row for group in table for row in group.rows]
        recorded = [
            (run, count) for run, count in zip(runs, totals(rows) if rows else [], strict=False) if count
        ]
        if not recorded:
            assert "othing was recorded" in sentence
            continue
        silent = [count[ScriptOutcome.SILENT] for _, count in recorded]
        newest, size = recorded[0][1], recorded[0][1].total()
        if newest[ScriptOutcome.COMPLETE] == size:
            complete = [count[ScriptOutcome.COMPLETE] == count.total() for _, count in recorded]
            since = re.search(r"since (\S+)\.$", sentence)
            if since is None:
                assert all(complete)
            else:
                at = [run.version for run, _ in recorded].index(since[1])
                assert all(complete[: at + 1])
                assert not complete[at + 1]
        elif silent[0]:
            assert f" {silent[0]} of {size}" in sentence
            if min(silent) < silent[0]:
                assert sentence.endswith(f": {min(silent)}.")
                best = [
                    column_label(run) for run, count in recorded if count[ScriptOutcome.SILENT] == min(silent)
                ]
                assert all(name in sentence for name in best) or f"{len(best)} releases" in sentence
        else:
            assert f"reports {newest[ScriptOutcome.REPORTED]} of {size} as errors" in sentence


def test_headline_follows_the_open_class_and_names_the_classes_that_are_complete() -> None:
    runs = releases("python", "3")
    every, calls = headline(runs), headline(runs, opened=ScriptClass.CALLS)
    assert every.sentence.startswith("All scripts: vLLM 0.33.0 loses text silently in ")
    assert every.beside == "Complete: text since 0.15.1, tool calls since 0.24.0."
    assert calls == Headline("Tool calls: complete in vLLM since 0.24.0.", every.sentence)


def test_another_server_is_named_where_it_delivers_the_same_scripts_completely() -> None:
    rust = releases("rust", "3")[0]
    text = headline([*releases("python", "3"), rust], opened=ScriptClass.TEXT).sentence
    assert text == "Text: complete in vLLM since 0.15.1, and in vLLM 0.33.0 Rust."


def test_headline_of_filtered_scripts_counts_only_these() -> None:
    assert headline(releases("python", "3"), words="tool_call_only").sentence == (
        "Scripts shown: complete in vLLM since 0.24.0."
    )


def test_headline_without_outcomes_says_so() -> None:
    assert headline(releases("python", "3"), words="no such script").sentence == (
        "Nothing was recorded for this selection."
    )


def test_column_label_names_the_front_end_where_it_is_rust() -> None:
    labels = {run.front_end: column_label(run) for run in every_run()}
    assert "Rust" not in labels["python"]
    assert labels["rust"].endswith(" Rust")
