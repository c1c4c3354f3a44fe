import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from subprocess import CompletedProcess

import msgspec
import pytest

from inspector.capture.errors import InspectorError
from inspector.files.store import FIXTURES
from inspector.issues.catalogue.issue import Side
from inspector.issues.catalogue.routes import routes
from inspector.issues.catalogue.schema import Expression
from inspector.issues.catalogue.table import DEFAULT_FILE, OWN_FILE, catalogue, read_catalogue
from tests.support.entries import ENTRY, written

ROOT = Path(__file__).parents[2]
CAPTURE = FIXTURES / "chat-tool-call-leak-vllm-0.14.1.jsonl"


def rejected(*entries: object) -> str:
    with pytest.raises(InspectorError) as error:
        read_catalogue(written(*entries), name="issues.yaml")
    return str(error.value)


def test_an_entry_needs_no_code() -> None:
    (issue,) = read_catalogue(written(ENTRY))
    assert (issue.id, issue.sides) == ("an-issue", (Side.SERVER,))
    assert issue.patterns[0].expression.search("and this very text here")


def expressions_in(value: object) -> Iterator[Expression]:
    match value:
        case Expression():
            yield value
        case msgspec.Struct():
            yield from expressions_in(msgspec.structs.asdict(value))
        case Mapping():
            yield from chain.from_iterable(map(expressions_in, value.values()))
        case tuple():
            yield from chain.from_iterable(map(expressions_in, value))


def test_all_expressions_of_the_tables_compile() -> None:
    wrong = []
    expressions = list(expressions_in((catalogue(), routes())))
    assert len(expressions) > 500
    for expression in expressions:
        try:
            _ = expression.expression
        except re.error as error:
            wrong.append(f"{expression.text!r} is not a regular expression: {error}")
    assert wrong == []


@pytest.mark.parametrize("field", ["id", "title", "sides", "cause", "steps", "confidence", "basis"])
def test_a_missing_field_is_named_with_its_entry(field: str) -> None:
    wrong = rejected({key: value for key, value in ENTRY.items() if key != field})
    entry = "$[0]" if field == "id" else "an-issue"
    assert wrong == f"issues.yaml: Object missing required field `{field}` - at `{entry}`"


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("id", "An Issue", "matching regex"),
        ("title", "  ", "matching regex"),
        ("title", " padded", "matching regex"),
        ("cause", "No full stop", "matching regex"),
        ("sides", ["the cat"], "'the cat'"),
        ("sides", [], "length >= 1"),
        ("sides", "client", "Expected `array`"),
        ("steps", ["no full stop"], "matching regex"),
        ("steps", [{"upgrade": "soon"}], "matching regex"),
        ("steps", [{"measured": True}], "a step is one of `step`, `until`"),
        ("steps", [{"step": "Wait.", "until": "wait"}], "a step is one of `step`, `until`"),
        ("steps", [{"upgrade": "0.11.0", "until": "wait"}], "a step is one of `step`, `until`"),
        ("steps", [{"step": "Wait.", "why": "which helps"}], "a step is one of `step`, `until`"),
        ("confidence", "sure", "'sure'"),
        ("patterns", [r"\d+ \w+"], "has no run of 4 plain characters"),
        ("patterns", [5], "Expected `str`"),
        ("needs", [""], "an empty expression matches everything"),
        ("affected", {"vllm": "0.13"}, "'0.13' is not an operator"),
        ("affected", {"vim": ">=1.0"}, "vllm|vllm"),
        ("fixed_in", {"vllm": "soon"}, "matching regex"),
        ("endpoints", ["chats"], "'chats'"),
        ("rate", "often", "'often'"),
        ("general", "yes please", "Expected `bool`"),
        ("request", {"tools": "maybe"}, "'maybe'"),
        ("engines", ["vim"], "matching regex"),
        ("tokens", [{"violations": ["begin"]}], "after_return|after_call"),
        ("tokens", [{"alone": True}], "a token form is a violation or a message"),
        ("tokens", [{"violations": ["no_role"], "colour": "red"}], "unknown field `colour`"),
        ("tokens", [{"message": {"weight": "x"}}], "'weight'"),
        ("findings", [{"kinds": ["lost"]}], "'lost'"),
        ("findings", [{}], "missing required field `kinds`"),
        ("findings", [{"kinds": ["dropped"], "when": ["soon"]}], "'soon' is not a condition here; "),
        ("steps", [{"step": "Wait.", "when": ["at_end"]}], "'at_end' is not a condition here; "),
        ("shares_text_with", ["nobody"], "nobody is not an entry"),
        ("measured_as", "nobody", "nobody is not an entry"),
        ("colour", "red", "unknown field `colour`"),
    ],
)
def test_a_wrong_field_is_named_with_its_entry(field: str, value: object, words: str) -> None:
    wrong = rejected({**ENTRY, "shows": ["a"], "shows_not": ["b"], field: value})
    assert wrong.startswith("issues.yaml: ")
    assert ("An Issue" if field == "id" else "an-issue") in wrong.rpartition(" - at ")[2]
    assert field in wrong or "is not an entry" in words
    assert words in wrong


def test_tokens_without_examples_are_refused() -> None:
    assert "tokens need `shows` and `shows_not`" in rejected(
        {**ENTRY, "tokens": [{"violations": ["no_role"]}]}
    )


def test_an_entry_that_nothing_leads_to_is_refused() -> None:
    entry = {key: value for key, value in ENTRY.items() if key != "patterns"}
    assert "nothing can lead to it" in rejected(entry)


def test_an_id_that_is_used_twice_is_refused() -> None:
    assert rejected(ENTRY, ENTRY) == "issues.yaml: id is used twice - at `an-issue`"


@pytest.mark.parametrize("text", ["{", "just words", "- 3", "- [1]", "a: 1", "", "- {1: 2}"])
def test_what_is_no_catalogue_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(InspectorError, match="the catalogue"):
        read_catalogue(text)


def test_a_catalogue_cannot_run_code(tmp_path: Path) -> None:
    victim = tmp_path / "made"
    with pytest.raises(InspectorError):
        read_catalogue(f'!!python/object/apply:os.mkdir ["{victim}"]')
    assert not victim.exists()


def test_every_link_is_an_address() -> None:
    no_links = [
        (issue.id, link)
        for issue in catalogue()
        for link in issue.links
        if not re.fullmatch(r"https://\S+", link)
    ]
    assert no_links == []


def test_the_catalogue_has_at_least_the_seventy_known_issues() -> None:
    assert len(catalogue()) >= 70


def test_the_file_lies_beside_its_reader() -> None:
    assert DEFAULT_FILE.parent.parts[-2:] == ("issues", "catalogue")


def own(
    folder: Path, *words: str, content: str, text: str = "", by: str = "option"
) -> "CompletedProcess[str]":
    """A command in a process of its own, as the catalogue is read once, with a file of own entries."""
    path = folder / "own.yaml"
    path.write_text(content, encoding="utf-8")
    option = ["--issues", str(path)] if by == "option" else []
    environment = {**os.environ} if option else {**os.environ, OWN_FILE: str(path)}
    command = [sys.executable, "-m", "inspector", *words, *option]
    return subprocess.run(
        command,
        input=text,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("by", ["option", "environment"])
def test_entries_of_ones_own_are_known_issues_too(by: str, tmp_path: Path) -> None:
    completed = own(tmp_path, "diagnose", content=written(ENTRY), text="Error: this very text\n", by=by)
    assert (completed.returncode, completed.stderr) == (1, "")
    assert "an-issue: Something fails" in completed.stdout


def test_an_own_entry_may_not_take_the_id_of_another(tmp_path: Path) -> None:
    used_id = catalogue()[0].id
    completed = own(tmp_path, "audit", str(CAPTURE), content=written({**ENTRY, "id": used_id}))
    assert completed.returncode == 2
    assert completed.stderr == f"inspector: {tmp_path / 'own.yaml'}: id is used twice - at `{used_id}`\n"


def test_an_own_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "inspector", "audit", str(CAPTURE), "--issues", str(tmp_path / "none")]
    completed = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
    assert completed.returncode == 2
    assert "the file of known issues cannot be read (No such file or directory)" in completed.stderr
