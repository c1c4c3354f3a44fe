"""The dashboard's JavaScript as ES modules: served unchanged, below an address that names their content.

Streamlit hands the browser one string of JavaScript a component and runs it from a `blob:` address,
where a relative import has nothing to be relative to. So that string is only a loader, and the modules
come from a route of app.py, where relative imports work, an editor resolves them and no build is needed.

- The address holds a digest of all files. The browser may keep a file for ever, and never mixes files
  of two versions: another version has other addresses.
- The files are read once, with the digest: what is on disk later cannot differ from what is served.
- A request chooses among these files by name; it never becomes a path of the disk.
- The browser resolves the address against the page, as Streamlit's own `./static` files, so it works
  under `server.baseUrlPath` and behind a proxy that adds a path.

Without app.py (`streamlit run pages/frame.py`) nothing serves the modules; the loader then says so.
"""

from collections.abc import Mapping
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

_ROOT: Final = Path(__file__).parents[1]
_PREFIX: Final = "inspector/modules"

FILES: Final[Mapping[str, bytes]] = MappingProxyType(
    {path.relative_to(_ROOT).as_posix(): path.read_bytes() for path in sorted(_ROOT.rglob("*.js"))}
)
"""Every module below pages/, by its path there."""

_LOADER: Final = """\
const address = new URL("{address}", document.baseURI).href;

export default async function (component) {{
  const module = await import(address).catch((cause) => {{
    const remedy = "start the dashboard with `streamlit run app.py`, then reload this page";
    throw new Error("The dashboard's scripts did not load: " + remedy, {{ cause }});
  }});
  return module.default(component);
}}
"""


def digest(files: Mapping[str, bytes]) -> str:
    """A name for exactly these files."""
    checksum = sha256()
    for name, content in files.items():
        checksum.update(f"{name}\0{len(content)}\0".encode() + content)
    return checksum.hexdigest()[:16]


DIGEST: Final = digest(FILES)
"""Names this version of all modules."""


def loader(name: str) -> str:
    """The JavaScript of a component whose default export is the module of that name, e.g. `ui/x.js`."""
    if name not in FILES:
        raise FileNotFoundError(_ROOT / name)
    return _LOADER.format(address=address(name))


def address(name: str) -> str:
    """Where a module is served, relative to the page."""
    return f"{_PREFIX}/{DIGEST}/{name}"


def module_routes(base: str = "") -> list[BaseRoute]:
    """Routes to mount beside the dashboard, below a path when `base` names one."""
    return [Route(f"{base}/{_PREFIX}/{{digest}}/{{name:path}}", _serve, methods=["GET"])]


async def _serve(request: Request) -> Response:
    # Streamlit drops the pages' modules when a file of theirs changes, and reads them again: ask the newest.
    current = import_module(__name__)
    content = current.FILES.get(request.path_params["name"])
    if content is None or request.path_params["digest"] != current.DIGEST:
        return PlainTextResponse("no such module\n", 404, {"Cache-Control": "no-store"})
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
    return Response(content, headers=headers, media_type="text/javascript")
