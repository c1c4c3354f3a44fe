"""Prints a finding as an issue to file: `python -m tools.make_issue docs/findings/NAME.md`.

The first line is the title. The request and the response are those of a recorded cell that shows the finding.
"""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Final, NamedTuple

from inspector.capture.capture import Capture, EventKind
from inspector.capture.errors import InspectorError
from inspector.capture.formats import clip
from inspector.matrix.results import named_capture, version_key
from inspector.protocol.wire.endpoints import spec_of
from tools.build_hook import repository, urls

ROOT: Final = Path(__file__).parent.parent
FINDINGS: Final = ROOT / "docs" / "findings"
PARTS: Final = ("What happens", "What is expected", "Stream", "Cells", "Releases", "Public threads")
"""What each report has, in this order; other parts stand between."""

_CELL: Final = re.compile(
    r"^\| `(([a-z-]+)-(\d+\.\d+\.\d+)-si(\w+)/(\w+)-(\w+))` \|(?:[^|]*\|)? ([^|]+) \|$", re.MULTILINE
)
_FINE: Final = frozenset({"complete", "read"})
_LINES: Final = 40
_LINE_AT_MOST: Final = 400
_SERVED: Final = {"vllm-rs": "--rust", "vllm-frontend": "--front-end"}
_PAGES: Final = {"vllm-rs": "rust", "vllm-frontend": "python"}
_DISCLOSURE: Final = (
    "**Disclosure.** An AI agent found this with Harmony Inspector, recorded the streams from the official "
    "release, and wrote this text."
)


class Cell(NamedTuple):
    """A row of a report's table: a recorded stream."""

    capture: str
    package: str
    version: str
    step: str
    endpoint: str
    script: str
    outcome: str

    @property
    def served(self) -> str:
        """The options of `lab install` and `lab serve`."""
        option = _SERVED.get(self.package)
        return f"{option} {self.version}" if option else f"--server {self.package} {self.version}"

    @property
    def page(self) -> str:
        """Its published address, below that of the pages."""
        front_end = _PAGES.get(self.package, self.package)
        return f"matrix/{front_end}-{self.version}.html#{self.endpoint}-{self.step}-{self.script}"


def places() -> dict[str, str]:
    """Where each report is to be filed, by its file name, as the list of the reports says."""
    text = (FINDINGS / "README.md").read_text("utf-8")
    return dict(re.findall(r"^\| \[.+?\]\(([\w-]+\.md)\) \|.*\| (.+?) \|$", text, re.MULTILINE))


def shown_cell(report: str) -> Cell:
    """The cell that an issue shows: of the newest release that has the failure, the first of its table."""
    cells = [Cell(*row) for row in _CELL.findall(report)]
    failing = [cell for cell in cells if cell.outcome not in _FINE] or cells
    newest = max(version_key(cell.version) for cell in failing)
    return next(cell for cell in failing if version_key(cell.version) == newest)


def issue(report: str, address: str = "") -> str:
    """Title and text of the issue; without an address of this repository its pages are not linked."""
    title, _, rest = report.removeprefix("# ").partition("\n")
    cell = shown_cell(report)
    capture = named_capture(cell.capture)
    if capture is None:
        raise InspectorError(f"{cell.capture}: the matrix has no such capture")
    pages = urls(address).get("Documentation", "")
    linked = rest.strip()
    if pages:
        for row in _CELL.findall(report):
            other = Cell(*row)
            linked = linked.replace(f"`{other.capture}`", f"[`{other.capture}`]({pages}{other.page})")
    parts = [title, linked, _repeated(cell, capture, address), _sent(cell, capture), _DISCLOSURE]
    return "\n\n".join(parts) + "\n"


def _repeated(cell: Cell, capture: Capture, address: str) -> str:
    path = spec_of(capture.header.endpoint).path
    body = json.dumps(capture.header.request, ensure_ascii=False)
    checkout = [f"git clone {address} && cd {address.rpartition('/')[2]}"] if address else []
    commands = [
        *checkout,
        "pip install -e . -e lab",
        f"python -m inspector lab install {cell.served}",
        f"python -m inspector lab serve {cell.served}{_options(cell, capture)} --port 8000 &",
        f"curl -sN http://127.0.0.1:8000/v1{path} -H 'content-type: application/json' -d {shlex.quote(body)}",
    ]
    how = (
        "**To repeat it.** The lab of Harmony Inspector starts the server of the official wheel on a CPU and "
        "makes the engine sample exactly these tokens; no model is downloaded."
    )
    return "\n".join([how, "", "```sh", *commands, "```"])


def _options(cell: Cell, capture: Capture) -> str:
    """More options of `lab serve`; a request to another server has its steps in its text."""
    tools = capture.header.request.get("tools")
    kinds = {str(tool.get("type")) for tool in tools} if isinstance(tools, list) else set()
    steps = cell.package in _SERVED and cell.step != "unstreamed"
    return f"{f' --stream-interval {cell.step}' if steps else ''}{' --tools' if kinds - {'function'} else ''}"


def _sent(cell: Cell, capture: Capture) -> str:
    lines = [
        f"{'data: ' if event.kind is EventKind.SSE else ''}{clip(event.data, _LINE_AT_MOST)}"
        for event in capture.events[:_LINES]
    ]
    if more := len(capture.events) - len(lines):
        lines.append(f"({more} more events)")
    shown = "\n".join(lines)
    summary = f"What the server sent ({cell.capture}; long lines are cut)"
    return f"<details><summary>{summary}</summary>\n\n```\n{shown}\n```\n\n</details>"


def main() -> int:
    """Print it, or say where it is written by hand."""
    path = Path(sys.argv[1])
    place = places()[path.name]
    if ":" in place:
        sys.exit(f"{path.name}: {place}; see docs/findings/README.md")
    sys.stdout.write(issue(path.read_text("utf-8"), repository(ROOT)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
