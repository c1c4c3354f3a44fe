"""Posted problems, solved by the steps of the skill: over the MCP server, and with the commands.

The client has no judgement: it takes the row of SKILL.md's table for what the poster has, makes its calls in
turn, and reads the fields that SKILL.md names. It stops at the first cause.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml

from inspector.commands.skill import SOURCE
from tests.support.command import inspector
from tests.support.mcp_session import McpSession
from tests.support.raw_server import RawRequest, page, raw_server, sse, stream
from tests.support.streams import Step, chat

PROBLEMS: Final = yaml.safe_load(Path(__file__).with_name("problems.yaml").read_text("utf-8"))
SKILL: Final = (SOURCE / "SKILL.md").read_text("utf-8")
CALLS_AT_MOST: Final = 3


def plan(have: str) -> list[list[str]]:
    """The commands of the table's row for what somebody has, as words without the program's name."""
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", SKILL, re.MULTILINE)
    (row,) = [row for row in rows if row[0].startswith(have)]
    return [
        shlex.split(command)[1:]
        for cell in row[1:]
        for command in re.findall(r"`(harmony-inspector .+?)`", cell)
    ]


class Given(NamedTuple):
    """What the poster has, in place of the names in the table."""

    words: Mapping[str, str]
    kind: str

    def fills(self, words: Sequence[str]) -> bool:
        """Whether it has all that a command names."""
        return all(word in self.words for word in words if word.isupper())


def answer_in(command: str, row: Mapping[str, Any], kind: str) -> str:
    """The cause, or what to change, in the fields that SKILL.md names; empty where there is none."""
    match command:
        case "diagnose" if row["outcome"] == "routed":
            return str(row["route"]["id"])
        case "diagnose":
            return str(next((answer["id"] for answer in row["answers"]), ""))
        case "audit":
            return str(next((cause["id"] for cause in row["causes"]), ""))
        case "doctor":
            failed = [check for check in row["checks"] if check["state"] == "failed"]
            failed.sort(key=lambda check: check["name"] in {"chat", "responses"})
            return next((f"{check['name']}: {check['change']}" for check in failed), "")
        case "matrix":
            [of_class] = [of_class for of_class in row["classes"] if of_class["class"] == kind]
            return str(of_class["complete_since"] or "")
        case "compare":
            return str(row["outcome"])
        case _:
            raise AssertionError(command)


Call = Callable[[Sequence[str], Mapping[str, str]], Mapping[str, Any]]


def solved(have: str, given: Given, call: Call) -> tuple[str, list[str]]:
    """The first cause, and the calls that were made."""
    calls: list[str] = []
    for words in plan(have):
        if not given.fills(words):
            continue
        calls.append(" ".join(words))
        if answer := answer_in(words[0], call(words, given.words), given.kind):
            return answer, calls
    return "", calls


def by_command(words: Sequence[str], values: Mapping[str, str]) -> Mapping[str, Any]:
    row: Mapping[str, Any] = json.loads(
        inspector(*(values.get(word, word) for word in words), "--json").stdout
    )
    return row


PARAMETERS: Final = {
    "FILE": {"audit": "text", "diagnose": "text", "tokens": "text"},
    "URL": {"doctor": "base_url"},
    "RELEASE": {"matrix": "release"},
    "A": {"compare": "left"},
    "B": {"compare": "right"},
}
"""The parameter of a tool for a name of the table; a poster's text is given as it is, without a file."""


def by_tool(session: McpSession) -> Call:
    def call(words: Sequence[str], values: Mapping[str, str]) -> Mapping[str, Any]:
        tool = words[0]
        arguments = {
            PARAMETERS[word][tool]: Path(values[word]).read_text("utf-8") if word == "FILE" else values[word]
            for word in words
            if word in PARAMETERS
        }
        arguments |= {
            option.removeprefix("--"): value
            for option, value in pairwise(words)
            if option.startswith("--") and value not in values
        }
        result: Mapping[str, Any] = session.answer(tool, **arguments)["result"]
        audited: Mapping[str, Any] = result["audits"][0] if tool == "audit" else result
        return audited

    return call


TEXT: Final[list[Step]] = [
    ("<|channel|>final<|message|>", {}),
    ("It is 51.", {"content": "It is 51."}),
    ("<|return|>", {}),
]
NO_STOP: Final[list[Step]] = [*TEXT, ("comment", {}), ("ary", {})]


@contextmanager
def served(fault: str) -> Iterator[str]:
    """A server with a fault of its configuration; its address."""
    models = json.dumps({"data": [{"id": "openai/gpt-oss-20b", "owned_by": "vllm"}]})
    words = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'

    def answer(request: RawRequest) -> Iterable[bytes]:
        if "tools" in request.body and fault == "no tool parser":
            return [page(400, json.dumps({"error": {"message": words}}), "application/json")]
        steps = NO_STOP if fault == "no stop after a call" else TEXT
        return stream([sse(event.data) for event in chat(steps).events])

    routes = {
        "/v1/models": lambda _: [page(200, models, "application/json")],
        "/version": lambda _: [page(200, '{"version": "0.33.0"}', "application/json")],
        "/v1/chat/completions": answer,
    }
    with raw_server(routes) as server:
        yield server.v1


@contextmanager
def given(problem: Mapping[str, Any], folder: Path) -> Iterator[Given]:
    """What the poster of a problem has."""
    words = {}
    if "text" in problem:
        path = folder / "posted.txt"
        path.write_text(problem["text"], "utf-8")
        words["FILE"] = str(path)
    if "release" in problem:
        words["RELEASE"] = problem["release"]
    if "captures" in problem:
        words["A"], words["B"] = problem["captures"]
    kind = problem.get("kind", "")
    if "server" not in problem:
        yield Given(words, kind)
        return
    with served(problem["server"]) as address:
        yield Given({**words, "URL": address}, kind)


IDS: Final = [problem["problem"] for problem in PROBLEMS]


def test_there_are_ten_problems_with_different_answers_and_some_without() -> None:
    answers = [problem["answer"] for problem in PROBLEMS]
    assert len({answer for answer in answers if answer}) >= 10
    assert answers.count("") >= 2


@pytest.mark.parametrize("problem", PROBLEMS, ids=IDS)
def test_the_commands_of_the_skill_reach_the_answer(problem: Mapping[str, Any], tmp_path: Path) -> None:
    with given(problem, tmp_path) as poster:
        answer, calls = solved(problem["have"], poster, by_command)
    assert (answer, len(calls) <= CALLS_AT_MOST) == (problem["answer"], True), calls


@pytest.mark.parametrize("problem", PROBLEMS, ids=IDS)
def test_the_tools_of_the_mcp_server_reach_the_answer(
    session: McpSession, problem: Mapping[str, Any], tmp_path: Path
) -> None:
    with given(problem, tmp_path) as poster:
        answer, calls = solved(problem["have"], poster, by_tool(session))
    assert (answer, len(calls) <= CALLS_AT_MOST) == (problem["answer"], True), calls
