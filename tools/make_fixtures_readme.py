"""`python -m tools.make_fixtures_readme` writes the table of fixtures/README.md from index.toml.

`--check` only compares.
"""

import sys

from inspector.files.store import FIXTURES, builtin

START, END = "<!-- from index.toml -->\n", "<!-- end -->"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<")


def main() -> int:
    """Write the table; 1 when it was not up to date."""
    readme = FIXTURES / "README.md"
    before = readme.read_text("utf-8")
    head, _, rest = before.partition(START)
    _, _, tail = rest.partition(END)
    rows = [
        f"| [{fixture.name}]({fixture.path.name}) | {fixture.server_version} | {fixture.endpoint} "
        f"| {fixture.tokens_per_step} | {fixture.verdict} "
        f"| **{_cell(fixture.title)}.** {_cell(fixture.shows)} |"
        for fixture in builtin()
    ]
    columns = "| capture | vLLM | endpoint | tokens per step | verdict | what it shows |"
    table = [columns, "|---|---|---|---|---|---|", *rows]
    after = head + START + "\n".join(table) + "\n" + END + tail
    if "--check" not in sys.argv and after != before:
        readme.write_text(after, "utf-8")
    return int(after != before)


if __name__ == "__main__":
    sys.exit(main())
