"""`python -m tools.make_llms > llms.txt`: the pages of the docs in the form of llmstxt.org."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from inspector.capture.formats import clip

ROOT: Final = Path(__file__).parent.parent

_HEAD: Final = """# Harmony Inspector

> See what gpt-oss (Harmony) generated and what a server such as vLLM delivered, token by token: a dashboard,
> a Python library and a command-line tool that work offline. It marks the tokens that were lost, leaked into
> the wrong field or rejected, and names the known issue and the fix.

The program is `harmony-inspector`, in a checkout `python -m inspector`. For an error or a log run `diagnose`,
for a response or a stream `audit`, for a server `doctor`."""
_SHOWN: Final = 200
"""Characters of what is said of a page."""

_FIRST: Final = ("agents", "commands", "start", "diagnose", "library")
"""The pages that a reader needs first; the others are in the order of their names."""


def llms() -> str:
    """The file."""
    pages = {path.stem: path for path in sorted((ROOT / "docs").glob("*.md"))}
    first = [pages.pop(name) for name in _FIRST]
    skill = ROOT / "skills" / "gpt-oss-troubleshooting" / "SKILL.md"
    parts = {
        "Docs": [*first, *pages.values()],
        "For those who change it": [ROOT / "AGENTS.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"],
        "Optional": [skill, *sorted((ROOT / "docs" / "findings").glob("*.md"))],
    }
    lines = [_HEAD]
    for title, paths in parts.items():
        lines += ["", f"## {title}", "", *map(_line, paths)]
    return "\n".join(lines) + "\n"


def _line(path: Path) -> str:
    title, sentence = described(path.read_text("utf-8"))
    about = f": {sentence}" if sentence else ""
    return f"- [{title}]({path.relative_to(ROOT).as_posix()}){about}"


def described(text: str) -> tuple[str, str]:
    """The title of a page, and the first sentence of its prose."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    [title] = re.findall(r"\A\s*# (.+)$", text, re.MULTILINE)
    return _plain(title), next(map(_sentence, _paragraphs(text)), "")


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.strip() and not re.match(r"\s*(?:#|\||-|!|<|\d+\.)", paragraph):
            yield " ".join(paragraph.split())


def _sentence(paragraph: str) -> str:
    text = re.sub(r"^\*\*[^*]+\*\* ", "", _plain(paragraph))
    return clip(re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0].rstrip(":"), _SHOWN)


def _plain(text: str) -> str:
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"(?<![*\w])\*(?! )([^*]+)\*(?!\*)", r"\1", text)


if __name__ == "__main__":
    sys.stdout.write(llms())
