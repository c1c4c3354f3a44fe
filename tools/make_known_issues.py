"""The known issues for the docs: `python -m tools.make_known_issues > docs/known-issues.md`."""

import sys
from collections.abc import Iterator

from inspector.issues.catalogue.issue import Issue
from inspector.issues.catalogue.table import catalogue

_HEAD = """# Known issues

Generated from `inspector/issues/catalogue/known_issues.yaml` by `python -m tools.make_known_issues`;
[diagnose.md](diagnose.md#the-catalogue) says how to add an entry. Versions without a program name
are versions of vLLM.
"""


def table() -> str:
    """The page as Markdown: a table of all entries, then each with cause, steps and links."""
    issues = catalogue()
    lines = [
        _HEAD,
        f"{len(issues)} entries.",
        "",
        "| issue | what happens | side | affected | fixed in | confidence |",
    ]
    lines.append("|---|---|---|---|---|---|")
    lines += [_row(issue) for issue in issues]
    for issue in issues:
        lines += ["", *_entry(issue)]
    return "\n".join(lines) + "\n"


def _row(issue: Issue) -> str:
    cells = (
        f"[{issue.id}](#{issue.id})",
        _escaped(issue.title),
        ", ".join(issue.sides),
        _escaped(
            _versions({program: versions.text for program, versions in issue.affected.items()}) or "any"
        ),
        _versions(dict(issue.fixed_in)),
        str(issue.confidence),
    )
    return f"| {' | '.join(cells)} |"


def _versions(by_program: dict[str, str]) -> str:
    return "; ".join(
        version if program == "vllm" else f"{program} {version}" for program, version in by_program.items()
    )


def _entry(issue: Issue) -> Iterator[str]:
    yield f"## {issue.id}"
    yield ""
    yield f"{_escaped(issue.title)}. {_escaped(issue.cause)}"
    yield ""
    yield from (f"- {_escaped(step.text)}" for step in issue.steps)
    yield ""
    yield f"Basis: {_escaped(issue.basis)}"
    if issue.examples:
        yield ""
        yield from (f"    {example}" for example in issue.examples)
    if issue.links:
        yield ""
        yield " ".join(f"<{link}>" for link in issue.links)


def _escaped(text: str) -> str:
    """Text that Markdown shows as it stands, also inside a table."""
    for char in "\\`*_<>[]|":
        text = text.replace(char, f"\\{char}")
    return text


if __name__ == "__main__":
    sys.stdout.write(table())
