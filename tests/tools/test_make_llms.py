"""llms.txt: the form of llmstxt.org, with every page of the docs."""

import re

from tests.support.command import ROOT
from tools.make_llms import llms

TEXT = (ROOT / "llms.txt").read_text("utf-8")


def test_the_file_is_what_the_docs_say_of_themselves() -> None:
    assert llms() == TEXT, "python -m tools.make_llms > llms.txt"


def test_every_page_is_listed_once() -> None:
    links = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", TEXT, re.MULTILINE)
    assert len(links) == len(set(links))
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert pages <= set(links)
    assert {"AGENTS.md", "CONTRIBUTING.md", "skills/gpt-oss-troubleshooting/SKILL.md"} <= set(links)


def test_it_has_the_form_of_llms_txt() -> None:
    lines = TEXT.splitlines()
    assert re.fullmatch(r"# \S.*", lines[0])
    assert lines[2].startswith("> ")
    lists = TEXT.split("\n## ")[1:]
    assert [part.splitlines()[0] for part in lists][-1] == "Optional"
    assert all(
        re.fullmatch(r"- \[.+?\]\(\S+?\)(: .+)?", line)
        for part in lists
        for line in part.splitlines()[2:]
        if line
    )


def test_what_agents_read_first_is_short() -> None:
    assert len((ROOT / "AGENTS.md").read_text("utf-8").split()) < 300
