"""`python -m tools.make_examples` runs the console examples of the docs and updates their output.

Examples with a line `...` are not changed: somebody chose which lines they show.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def _renewed(block: str) -> str:
    first, *parts = re.split(r"^(?=\$ )", block, flags=re.MULTILINE)
    return first + "".join(map(_example, parts))


def _example(part: str) -> str:
    command, _, output = part.removeprefix("$ ").partition("\n")
    if "..." in output.splitlines():
        return part
    words = [sys.executable, *shlex.split(command)[1:]]
    printed = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False).stdout
    return f"$ {command}\n{printed.rstrip()}\n"


def main() -> None:
    """Rewrite README.md and docs/*.md where an output has changed."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        before = path.read_text("utf-8")
        after = re.sub(
            r"(?<=```console\n).*?(?=```)", lambda match: _renewed(match[0]), before, flags=re.DOTALL
        )
        if after != before:
            path.write_text(after, "utf-8")


if __name__ == "__main__":
    main()
