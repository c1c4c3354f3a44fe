"""The picture of an HTML report: the dashboard's own modules as one script, and the stream as data beside it.

A report must work without a network and from a file, where a browser loads no modules. So each module becomes
a function of its own in one script, in the order of their imports. The policy of the page allows this script
by its hash, and nothing else.
"""

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any, Final

from inspector.files.store import APP
from inspector.views.report.escape import masked

_ENTRY: Final = "strip/pipeline/report.js"
_IMPORT: Final = re.compile(r'^import \{([^}]*)\} from "(\.[^"]+)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)
_KEPT: Final = (
    *("key", "unit", "count", "sent", "hidden", "ids", "vocab", "texts", "events", "blocks"),
    *("pipelines", "reconstructed", "uncertain", "unsent", "kinds", "special_tokens"),
)
_KEPT_OF_FINDINGS: Final = (
    *("kind", "title", "field", "token_start", "token_end", "cell_start", "cell_end"),
    *("event_start", "event_end", "choice", "sent"),
)
_HTML: Final = """<figure class='hi picture'>
<div class='tools'><button data-part='watch'><span data-part='watch-word'>Watch it happen</span></button>
<span class='quiet'>&#8592; &#8594; token</span><span class='fill'></span>
<button class='link' data-part='pipeline-now' hidden></button>
<button class='link' data-part='pipeline-fit' hidden>whole stream</button>
<button class='switch' role='switch' data-part='pipeline-ids' hidden>token IDs</button></div>
<canvas data-part='pipeline' tabindex='0' role='img'
 aria-label='What the model wrote, and where each token arrived'></canvas>
<p class='quiet' data-part='pipeline-words'></p>
<noscript><p>The picture needs the page's script; the findings and texts below do not.</p></noscript>
</figure>"""


@cache
def script() -> str:
    """The script of the page."""
    root = APP / "pages" / "ui"
    modules: dict[str, str] = {}

    def read(name: str) -> None:
        if name in modules:
            return
        modules[name] = ""  # it is being read: modules do not import each other in a circle
        source = (root / name).read_text("utf-8")
        for _, path in _IMPORT.findall(source):
            read(_beside(name, path))
        del modules[name]
        exported = ", ".join(_EXPORT.findall(source))
        body = _EXPORT.sub("", _IMPORT.sub(lambda found: _binding(name, found), source))
        modules[name] = f"modules[{json.dumps(name)}] = (() => {{\n{body}return {{ {exported} }};\n}})();\n"

    read(_ENTRY)
    start = (
        f"modules[{json.dumps(_ENTRY)}].showReport(document.querySelector('.picture'), "
        "JSON.parse(document.getElementById('stream').textContent));"
    )
    return f"'use strict';\nconst modules = {{}};\n{''.join(modules.values())}{start}\n"


def _beside(name: str, path: str) -> str:
    parts: list[str] = []
    for part in (*PurePosixPath(name).parent.parts, *path.split("/")):
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _binding(name: str, found: re.Match[str]) -> str:
    names = " ".join(found[1].split()).replace(" as ", ": ")
    return f"const {{ {names} }} = modules[{json.dumps(_beside(name, found[2]))}];\n"


def policy() -> str:
    """What the page may do: its own style and this script, nothing from elsewhere."""
    digest = b64encode(sha256(script().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def picture(payload: Mapping[str, Any]) -> str:
    """HTML of the picture of a strip payload with cells."""
    stream = {name: payload[name] for name in _KEPT}
    stream["findings"] = [
        {"known_issues": [], **{name: finding[name] for name in _KEPT_OF_FINDINGS if name in finding}}
        for finding in payload["findings"]
    ]
    data = masked(json.dumps(stream)).replace("<", "\\u003c")
    return f"{_HTML}<script type='application/json' id='stream'>{data}</script><script>{script()}</script>"
