"""`python -m tools.make_skill` writes the tables of the skill for coding agents, from catalogue and matrix.

Each stands between `<!-- NAME -->` and `<!-- /NAME -->` in a file of the skill's references.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from inspector.capture.capture import Endpoint
from inspector.capture.formats import clip
from inspector.issues.catalogue.issue import Issue, Side
from inspector.issues.catalogue.steps import Situation, first_step, steps_in
from inspector.issues.catalogue.table import catalogue
from inspector.issues.texts.diagnose import diagnose_text
from inspector.matrix.answers import matrix_answer
from inspector.protocol.engines import DEFAULT, ENGINES, UNKNOWN, Engine

ROOT: Final = Path(__file__).parent.parent
REFERENCES: Final = ROOT / "skills" / "gpt-oss-troubleshooting" / "references"

_SHOWN: Final = 140
"""Characters of a message."""


def errors() -> Iterator[Sequence[str]]:
    """The form of a message, the entry that it leads to, the first thing to do."""
    yield "message", "entry", "first"
    for issue in catalogue():
        if message := message_of(issue):
            yield code(message), issue.id, cell(first_step(issue, Situation()))


def message_of(issue: Issue) -> str:
    """The shortest text of an entry, as it is shown, that leads `diagnose` to it, best as its first answer.

    Empty for an entry without one.
    """
    found: dict[bool, str] = {}
    for text in sorted({*issue.examples, *issue.must_match}, key=lambda text: (len(text), text)):
        shown = clip(" ".join(text.split()), _SHOWN)
        ids = [answer.issue.id for answer in diagnose_text([shown]).answers]
        if issue.id in ids:
            found.setdefault(ids[0] == issue.id, shown)
    return found.get(True) or found.get(False) or ""


def symptoms() -> Iterator[Sequence[str]]:
    """The entries without a message."""
    yield "what happens", "entry", "first"
    for issue in catalogue():
        if not message_of(issue):
            yield cell(issue.title), issue.id, cell(first_step(issue, Situation(engine=_engine_of(issue))))


def servers() -> Iterator[Sequence[str]]:
    """How the parsers of each server that people run are turned on."""
    yield "server", "tool calls", "reasoning"
    for engine in ENGINES:
        hints = engine.tools_hint, engine.reasoning_hint
        if not engine.hosts and hints != (UNKNOWN.tools_hint, UNKNOWN.reasoning_hint):
            yield engine.front_end or engine.label, *map(cell, hints)


def checks() -> Iterator[Sequence[str]]:
    """The table of docs/doctor.md."""
    lines = (ROOT / "docs" / "doctor.md").read_text("utf-8").splitlines()
    for line in lines:
        if line.startswith("| "):
            yield [part.strip() for part in re.split(r"(?<!\\)\|", line)[1:-1]]


def configuration() -> Iterator[Sequence[str]]:
    """The entries that blame a setting first."""
    return _of_side(Side.CONFIGURATION)


def files() -> Iterator[Sequence[str]]:
    """The entries that blame files beside the weights, a template or a fine-tune."""
    return _of_side(Side.FILES, Side.TEMPLATE)


def _of_side(*sides: Side) -> Iterator[Sequence[str]]:
    yield "what happens", "entry", "first"
    for issue in catalogue():
        if issue.sides[0] in sides:
            yield cell(issue.title), issue.id, cell(first_step(issue, Situation(engine=_engine_of(issue))))


def matrix() -> Iterator[Sequence[str]]:
    """The stored results of both endpoints, newest release first."""
    kinds = ("complete", "error", "silent")
    yield "release", *(f"{endpoint} {kind}" for endpoint in ("chat", "responses") for kind in kinds)
    chat, responses = (matrix_answer(at)["releases"] for at in (Endpoint.CHAT, Endpoint.RESPONSES))
    for rows in zip(chat, responses, strict=True):
        yield rows[0]["release"], *(str(row[key]) for row in rows for key in ("whole", "told", "silent"))


def tool_choice() -> Iterator[Sequence[str]]:
    """The entries about tool_choice."""
    yield "what happens", "entry", "vLLM", "why", "steps"
    for issue in catalogue():
        if "tool-choice" in issue.id:
            steps = " ".join(step.text for step in steps_in(issue, Situation()))
            yield cell(issue.title), issue.id, _affected(issue), cell(issue.cause), cell(steps)


def repairs() -> Iterator[Sequence[str]]:
    """The entries of the server's own code whose first step is an upgrade."""
    yield "what happens", "entry", "vLLM", "upgrade"
    for issue in catalogue():
        first = steps_in(issue, Situation())[0]
        if _engine_of(issue) is DEFAULT and Side.SERVER in issue.sides and first.upgrade:
            yield cell(issue.title), issue.id, _affected(issue), cell(first.text)


def _affected(issue: Issue) -> str:
    versions = issue.affected.get(DEFAULT.program)
    return "any" if versions is None else cell(versions.text)


def _engine_of(issue: Issue) -> Engine:
    return next((engine for engine in ENGINES if engine.name in issue.engines), DEFAULT)


def code(text: str) -> str:
    """A text as code in a cell."""
    marks = "``" if "`" in text else "`"
    return f"{marks}{text.replace('|', chr(92) + '|')}{marks}"


def cell(text: str) -> str:
    """A sentence in a cell."""
    return text.replace("|", "\\|")


BLOCKS: Final[Mapping[str, Callable[[], Iterable[Sequence[str]]]]] = {
    "errors": errors,
    "symptoms": symptoms,
    "servers": servers,
    "checks": checks,
    "configuration": configuration,
    "files": files,
    "matrix": matrix,
    "tool_choice": tool_choice,
    "repairs": repairs,
}
"""The tables by the name of their block."""


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows as Markdown, the first one as the head."""
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def written(text: str) -> str:
    """A file with its blocks as they must be."""
    for name in re.findall(r"<!-- (\w+) -->", text):
        before, rest = text.split(f"<!-- {name} -->")
        after = rest.split(f"<!-- /{name} -->")[1]
        text = f"{before}<!-- {name} -->\n{table(BLOCKS[name]())}\n<!-- /{name} -->{after}"
    return text


if __name__ == "__main__":
    for path in sorted(REFERENCES.glob("*.md")):
        path.write_text(written(path.read_text("utf-8")), "utf-8")
