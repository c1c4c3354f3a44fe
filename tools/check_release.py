"""Says what a tag lacks to be a release: `python -m tools.check_release v0.1.0`; exit code 1 if anything."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from inspector.capture.version import __version__
from tools.build_hook import repository
from tools.make_addresses import FILES

ROOT: Final = Path(__file__).parent.parent


def missing(tag: str, root: Path = ROOT) -> Iterator[str]:
    """One sentence for each thing."""
    if tag != f"v{__version__}":
        yield f"the tag is {tag}, and inspector/capture/version.py says {__version__}"
    dated = rf"^## {re.escape(__version__)} \(\d{{4}}-\d{{2}}-\d{{2}}\)$"
    if not re.search(dated, (root / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE):
        yield f"CHANGELOG.md has no heading “## {__version__} (YYYY-MM-DD)”"
    address = repository(root)
    if not address:
        yield "publishing.toml has no repository"
    for name, written in FILES.items():
        text = (root / name).read_text("utf-8")
        if written(text, address) != text:
            yield f"{name} has another address or version: run python -m tools.make_addresses"


if __name__ == "__main__":
    if sentences := list(missing(sys.argv[1])):
        sys.exit("\n".join(sentences))
