"""Writes the address of publishing.toml into the files that cannot read it: `python -m tools.make_addresses`.

These are files of other repositories in the docs, the site, and the citation. Without an address they have
none.
"""

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from inspector.capture.version import __version__
from tools.build_hook import repository, urls

ROOT: Final = Path(__file__).parent.parent


def in_workflow(text: str, address: str) -> str:
    """The steps that use the action: the repository's at the tag of this version, else of a copy."""
    name = address.removeprefix("https://github.com/")
    action = f"{name}@v{__version__}" if name else "./harmony-inspector"
    return re.sub(r"(uses: )\S+(?= # this repository)", rf"\1{action}", text)


def in_hooks(text: str, address: str) -> str:
    """The repository of the hook at the tag of this version, else a copy."""
    text = re.sub(r"(repo: )\S+(?= # this repository)", rf"\1{address or './harmony-inspector'}", text)
    return re.sub(r"(# this repository\n +rev: )\S+", rf"\1v{__version__}", text)


def in_site(text: str, address: str) -> str:
    """The addresses of the site and of its repository, below the site's name."""
    pages = urls(address).get("Documentation", "")
    lines = f"site_url: {pages}\nrepo_url: {address}\n" if address else ""
    return re.sub(
        r"(^site_name: .*\n)(?:site_url: .*\nrepo_url: .*\n)?", rf"\1{lines}", text, flags=re.MULTILINE
    )


def in_citation(text: str, address: str) -> str:
    """The citation, with the version."""
    line = f"repository-code: {address}\n" if address else ""
    text = re.sub(r"^version: .*$", f"version: {__version__}", text, flags=re.MULTILINE)
    return re.sub(r"^(?:repository-code: .*\n)?(?=license:)", line, text, count=1, flags=re.MULTILINE)


FILES: Final[Mapping[str, Callable[[str, str], str]]] = {
    "docs/ci.md": in_workflow,
    "docs/lint.md": in_hooks,
    "mkdocs.yml": in_site,
    "CITATION.cff": in_citation,
}


def main() -> int:
    """Write them."""
    try:
        address = repository(ROOT)
    except ValueError as error:
        sys.exit(str(error))
    for name, written in FILES.items():
        path = ROOT / name
        path.write_text(written(path.read_text("utf-8"), address), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
