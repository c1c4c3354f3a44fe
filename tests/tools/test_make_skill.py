"""The skill for coding agents: its form, its tables, and what it tells an agent to run."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from inspector.commands.options import Command
from inspector.commands.skill import NAME, SOURCE
from inspector.commands.table import PROGRAM
from inspector.issues.catalogue.table import catalogue
from inspector.issues.texts.diagnose import diagnose_text
from tools.make_skill import BLOCKS, REFERENCES, written

FILES = sorted(SOURCE.rglob("*.md"))
SKILL = SOURCE / "SKILL.md"


@pytest.mark.parametrize("path", sorted(REFERENCES.glob("*.md")), ids=lambda path: path.name)
def test_the_tables_are_those_of_the_catalogue_and_the_matrix(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text == written(text), f"python -m tools.make_skill writes {path.name}"


def test_every_table_has_a_place() -> None:
    texts = "".join(path.read_text("utf-8") for path in FILES)
    assert sorted(re.findall(r"<!-- (\w+) -->", texts)) == sorted(BLOCKS)


def test_every_entry_is_in_one_of_two_tables_and_its_message_leads_to_it() -> None:
    rows: dict[str, str] = {}
    for name in ("errors.md", "symptoms.md"):
        text = (REFERENCES / name).read_text("utf-8")
        _, _, *found = re.findall(r"^\| (.+) \| ([a-z0-9-]+) \| .+ \|$", text, re.MULTILINE)
        rows |= {entry: first for first, entry in found}
        if name == "errors.md":
            for entry, message in rows.items():
                posted = message.strip("`").replace("\\|", "|")
                assert entry in [answer.issue.id for answer in diagnose_text([posted]).answers]
    assert set(rows) == {issue.id for issue in catalogue()}
    assert len(rows) == len(catalogue())


def test_the_front_matter_has_the_form_of_agent_skills() -> None:
    """https://agentskills.io/specification: names, lengths, and no other keys."""
    _, front, body = SKILL.read_text("utf-8").split("---\n", 2)
    fields = yaml.safe_load(front)
    assert set(fields) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert fields["name"] == NAME == SKILL.parent.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", NAME)
    assert len(NAME) <= 64
    assert 0 < len(fields["description"]) <= 1024
    assert not set("<>") & set(fields["description"])
    assert 0 < len(fields["compatibility"]) <= 500
    assert len(body.splitlines()) < 500
    assert len(body.split()) < 2000, "an agent reads all of it"


def test_every_reference_is_one_link_from_the_skill_and_bounded() -> None:
    body = SKILL.read_text("utf-8")
    linked = set(re.findall(r"\]\((references/[\w-]+\.md)", body))
    assert linked == {path.relative_to(SOURCE).as_posix() for path in REFERENCES.glob("*.md")}
    assert sum(len(path.read_text("utf-8").split()) for path in FILES) < 12_000


def commands() -> list[str]:
    """Every command line of the skill, once."""
    found: dict[str, None] = {}
    for path in FILES:
        text = path.read_text("utf-8")
        found |= dict.fromkeys(
            re.findall(r"(?:^|`)(harmony-inspector [a-z]+(?: [^`\n#]+)?)", text, re.MULTILINE)
        )
    return [line.strip() for line in found]


@pytest.mark.parametrize("line", commands())
def test_every_command_of_the_skill_is_one_with_these_options(line: str) -> None:
    _, name, *words = shlex.split(line)
    command = PROGRAM.load(name)
    assert isinstance(command, Command)
    if words:
        command.parsed(name, words)


def test_the_skill_says_what_was_asked_of_it() -> None:
    """The facts that a troubleshooting skill for gpt-oss cannot do without."""
    text = " ".join(path.read_text("utf-8") for path in FILES)
    for words in (
        "in the server",
        "--tool-call-parser openai --enable-auto-tool-choice --reasoning-parser openai_gptoss",
        "--tool-server demo",
        "--tool-server host:port,host:port",
        "generation_config.json",
        "[200002, 199999, 200012]",
        "12606",
        "tool_choice",
        "hf download",
        "/health",
        "/v1/models",
        "pip show vllm",
    ):
        assert words in text, words
