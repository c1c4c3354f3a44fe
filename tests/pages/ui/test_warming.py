"""What is loaded before and beside the first page."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from inspector.net.runs.registry import FOLDER_VARIABLE
from pages.ui.warming import warmed

ROOT = Path(__file__).parents[3]
FIRST = "xml.dom.pulldom"


def test_the_modules_of_the_first_page_load_while_the_server_answers() -> None:
    sys.modules.pop(FIRST, None)

    async def serving() -> bool:
        async with warmed((FIRST,)):
            for _ in range(500):
                if FIRST in sys.modules:
                    break
                await asyncio.sleep(0.01)
            return FIRST in sys.modules

    assert asyncio.run(serving())


LOADED = """
import ast, importlib, sys
import streamlit, app
for name in app.FIRST_PAGE:
    importlib.import_module(name)
before = set(sys.modules)
for page in ("pages/frame.py", "pages/replay.py"):
    for node in ast.parse(open(page, encoding="utf-8").read()).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            exec(compile(ast.Module([node], []), page, "exec"))
print(sorted(name for name in set(sys.modules) - before if name.startswith(("pages", "inspector"))))
print([name for name in ("pandas", "pyarrow") if name in sys.modules])
"""


def test_what_the_first_page_imports_is_loaded_beside_it_and_pandas_is_not(tmp_path: Path) -> None:
    environment = {**os.environ, FOLDER_VARIABLE: str(tmp_path)}
    command = [sys.executable, "-c", LOADED]
    ran = subprocess.run(
        command, cwd=ROOT, env=environment, text=True, capture_output=True, timeout=120, check=False
    )
    assert ran.stdout.splitlines() == ["[]", "[]"], ran.stderr
