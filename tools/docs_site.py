"""The docs as a site that needs no repository: what pages link to outside docs/ becomes part of it.

mkdocs calls these functions (`hooks` in mkdocs.yml). README.md is the index. A linked Markdown file outside
docs/ becomes a page below `repository/`, any other file is copied there.
"""

import html
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parent.parent
DOCS: Final = ROOT / "docs"
INDEX: Final = ROOT / "README.md"
PIPE: Final = r"\|"

_LINK: Final = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)")
_FENCE: Final = re.compile(r"(^ *```.*?^ *```)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add README.md, and what is outside docs/ and linked to."""
    waiting = [INDEX, *sorted(DOCS.rglob("*.md"))]
    reached = set(waiting)
    for source in waiting:
        if not source.is_relative_to(DOCS):
            file = File.generated(config, _uri(source), abs_src_path=str(source))
            file.inclusion = InclusionLevel.INCLUDED if source == INDEX else InclusionLevel.NOT_IN_NAV
            files.append(file)
        if source.suffix == ".md":
            linked = {_target(source, link) for link in _links(source.read_text("utf-8"))} - reached
            outside = {path for path in linked if path.is_file() and not path.is_relative_to(DOCS)}
            waiting += sorted(outside)
            reached |= outside
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Links as they are on the site, and escapes as Python-Markdown reads them."""
    if page.file.src_uri == "known-issues.md":
        # Longer than all others together, it would come first for any word.
        page.meta["search"] = {"boost": 0.1}
    source = _source(page.file.src_uri)
    folder = os.path.dirname(page.file.src_uri)

    def on_the_site(match: re.Match[str]) -> str:
        target = _target(source, match[0])
        return os.path.relpath(_uri(target), folder or ".") if target.is_file() else match[0]

    return _outside_code(markdown, lambda text: _escapes(_LINK.sub(on_the_site, text)))


def _links(text: str) -> Iterator[str]:
    return (match[0] for part in _FENCE.split(text)[::2] for match in _LINK.finditer(part))


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    parts = _FENCE.split(text)
    parts[::2] = map(change, parts[::2])
    return "".join(parts)


def _target(source: Path, link: str) -> Path:
    return Path(os.path.normpath(source.parent / link))


def _uri(path: Path) -> str:
    if path == INDEX:
        return "index.md"
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    return f"repository/{path.relative_to(ROOT).as_posix()}"


def _source(uri: str) -> Path:
    if uri == "index.md":
        return INDEX
    outside = uri.removeprefix("repository/")
    return DOCS / uri if outside == uri else ROOT / outside


def _escapes(text: str) -> str:
    r"""GitHub's `\<`, and `\|` in the cells of a table: Python-Markdown shows these backslashes."""
    return re.sub(r"^ *\|.*$", lambda row: _row(row[0]), text.replace(r"\<", "&lt;"), flags=re.MULTILINE)


def _row(row: str) -> str:
    def code(match: re.Match[str]) -> str:
        return f"<code>{html.escape(match[1]).replace(PIPE, '&#124;')}</code>"

    return re.sub(r"`([^`]*\\\|[^`]*)`", code, row).replace(PIPE, "&#124;")
