"""What clients made of the recorded streams: the shipped results, their file, and the command."""

import json
from pathlib import Path

import pytest

from harmony_lab.clients import CLIENTS, Client, write
from harmony_lab.servers.table import SERVERS
from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.matrix.changes import shifts
from inspector.matrix.headline import matrix_headline
from inspector.matrix.receivers import FILES, load_clients
from inspector.matrix.results import MatrixRun, Receiver, ScriptOutcome, every_run
from inspector.matrix.scripts import load
from inspector.matrix.table import matrix_table
from tests.support.command import inspector

FILE = FILES[Receiver.CLIENT]
PYTHON, OLD_PYTHON, NODE, AI_SDK, ANTHROPIC = CLIENTS


def runs_of(version: str, front_end: str, step: str) -> list[MatrixRun]:
    return [
        run
        for run in every_run()
        if (run.version, run.front_end, run.step, run.engine) == (version, front_end, step, "stand-in")
    ]


def test_the_results_are_in_memory_once_until_their_file_changes(tmp_path: Path) -> None:
    """Each session of the Matrix page keeps what it loaded."""
    assert load_clients() is load_clients()
    key = ("run", Endpoint.CHAT, "plain")
    write(tmp_path / FILE, {NODE: {key: "read"}})
    before = load_clients(tmp_path)
    write(tmp_path / FILE, {NODE: {key: "unreadable"}})
    (tmp_path / FILE).touch()
    assert [
        own.rows[key] for matrix in (before, load_clients(tmp_path)) for own in matrix.by_name.values()
    ] == [
        "read",
        "unreadable",
    ]


def unread(client: str, version: str, endpoint: Endpoint, script: str, front_end: str = "python") -> bool:
    [run] = runs_of(version, front_end, "3")
    return load_clients().view(client, run).scores[endpoint, script].outcome is ScriptOutcome.SILENT


def test_every_client_read_every_response_of_the_shipped_runs() -> None:
    matrix = load_clients()
    assert set(matrix.by_name) == {client.label for client in CLIENTS}
    for run in (run for run in every_run() if run.package not in SERVERS):  # clients read vLLM's only
        for client in CLIENTS:
            view = matrix.view(client.label, run)
            asked = {key for key in run.scores if key[0] in client.endpoints}
            assert asked <= set(view.scores), (client.label, run.name)
            assert view.received_by == client.label


@pytest.mark.parametrize(
    ("client", "script", "last", "first"),
    [
        (PYTHON, "plain", "0.24.0", "0.25.1"),
        (PYTHON, "tool_call", "0.23.0", "0.24.0"),
        (NODE, "tool_call", "0.31.0", "0.32.0"),
        (AI_SDK, "tool_call", "0.23.0", "0.24.0"),
    ],
)
def test_from_which_release_on_responses_are_read(client: Client, script: str, last: str, first: str) -> None:
    assert unread(client.label, last, Endpoint.RESPONSES, script)
    assert not unread(client.label, first, Endpoint.RESPONSES, script)


def test_an_older_sdk_breaks_the_calls_of_the_rust_front_end() -> None:
    assert unread(OLD_PYTHON.label, "0.33.0", Endpoint.CHAT, "tool_call", "rust")
    assert not unread(PYTHON.label, "0.33.0", Endpoint.CHAT, "tool_call", "rust")


def test_views_are_runs_with_a_headline_and_changes() -> None:
    matrix = load_clients()
    older, newer = (
        matrix.view(NODE.label, run)
        for run in (*runs_of("0.31.0", "python", "3"), *runs_of("0.32.0", "python", "3"))
    )
    words = [str(shift) for shift in shifts(older, newer, Endpoint.RESPONSES)]
    assert any("went from “not read” to “read”" in sentence for sentence in words)
    runs = [newer, older]
    headline = matrix_headline(matrix_table(runs, load(), Endpoint.RESPONSES), runs).sentence
    assert headline.startswith(f"All scripts: {NODE.label} does not read 1 of ")
    assert "; of 0.31.0 it does not read" in headline
    headline = matrix_headline(matrix_table([newer], load(), Endpoint.CHAT), [newer]).sentence
    assert headline.startswith(f"All scripts: {NODE.label} reads all ")


def test_results_are_written_beside_those_of_other_clients(tmp_path: Path) -> None:
    path = tmp_path / FILE
    write(path, {PYTHON: {("run", Endpoint.CHAT, "plain"): "read"}})
    write(path, {NODE: {("run", Endpoint.CHAT, "plain"): "unreadable: OpenAIError: no: colon"}})
    rows = load_clients(tmp_path).by_name
    assert rows[PYTHON.label].rows == {("run", Endpoint.CHAT, "plain"): "read"}
    assert rows[NODE.label].rows == {("run", Endpoint.CHAT, "plain"): "unreadable: OpenAIError: no: colon"}


@pytest.mark.parametrize("content", [b"", b"text", b"\x1f\x8b\x08\x00\x00"])
def test_a_damaged_file_is_an_error_with_its_place(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(LabError, match=f"{FILE}: not a results file"):
        load_clients(tmp_path)


def test_command_prints_counts_and_rows() -> None:
    printed = inspector("lab", "clients", "--client", "openai-node").stdout.decode()
    assert "openai-node 7.57.0" in printed
    assert "openai-python" not in printed
    rows = json.loads(inspector("lab", "clients", "--client", AI_SDK.label, "--json").stdout)
    outcomes = {row["outcome"] for row in rows}
    assert outcomes == {"whole", "told", "silent"}
    assert {row["client"] for row in rows} == {AI_SDK.label}


def test_command_names_the_clients_that_there_are() -> None:
    failed = inspector("lab", "clients", "--client", "curl")
    assert failed.returncode == 2
    assert b"the clients are openai-python" in failed.stderr
