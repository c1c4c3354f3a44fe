"""`inspector.types`, and the library in the eyes of another program's type checker."""

import enum
import functools
import inspect
import shutil
import subprocess
import sys
import sysconfig
import typing
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from pandas import DataFrame

import inspector
from inspector import types

ROOT = Path(__file__).parent.parent

PROGRAM = """
import httpx
import openai

import inspector
from inspector.types import Alignment, Cause, Message

def first_messages(path: str) -> list[Message]:
    inspection = inspector.inspect(inspector.load(path))
    return list(inspection.reading.choice.transcript.messages)

def cause_of(inspection: inspector.Inspection) -> Cause | None:
    return inspection.cause

def lost(inspection: inspector.Inspection) -> list[inspector.Finding]:
    alignments: list[Alignment | None] = list(inspection.alignments.values())
    dropped = inspector.Kind.DROPPED
    return [finding for finding in inspection.findings if finding.kind is dropped and alignments]

comparison: inspector.Comparison = inspector.compare(
    inspector.inspect(inspector.load("a.jsonl")), inspector.inspect(inspector.load("b.jsonl"))
)
reveal_type(inspector.load("a.jsonl"))

client = openai.OpenAI(http_client=inspector.recording_client("a.jsonl"))
async_client = openai.AsyncOpenAI(http_client=inspector.async_recording_client("a.jsonl"))
of_httpx: httpx.Client = inspector.recording_client("a.jsonl", trust_env=False)
"""


def classes(hint: object) -> Iterator[type]:
    if isinstance(hint, type) and not typing.get_args(hint):
        yield hint
    for argument in typing.get_args(hint):
        yield from classes(argument)


def returned(public: object) -> Iterator[type]:
    """Our classes that a function returns, or that an attribute, a property or a method of a class has."""
    hints: list[object] = []
    if isinstance(public, type) and not issubclass(public, enum.Enum):
        hints += [hint for name, hint in typing.get_type_hints(public).items() if not name.startswith("_")]
        for name, member in vars(public).items():
            function = getattr(member, "fget", None) or getattr(member, "func", None) or member
            if not name.startswith("_") and inspect.isfunction(function):
                hints.append(typing.get_type_hints(function).get("return"))
    elif inspect.isfunction(public) or isinstance(public, functools.partial):
        hints.append(typing.get_type_hints(public, localns={"DataFrame": DataFrame}).get("return"))
    for hint in hints:
        yield from (
            returned_class
            for returned_class in classes(hint)
            if returned_class.__module__.startswith("inspector.")
        )


def test_every_type_that_the_library_returns_has_a_public_name() -> None:
    public = [getattr(inspector, name) for name in inspector.__all__]
    named = {*map(id, public), *(id(getattr(types, name)) for name in types.__all__)}
    assert {
        kind.__qualname__ for public_type in public for kind in returned(public_type) if id(kind) not in named
    } == set()


@pytest.mark.slow
def test_a_program_that_uses_the_library_passes_mypy_strict(tmp_path: Path) -> None:
    program = tmp_path / "consumer.py"
    program.write_text(PROGRAM)
    home = tmp_path / "environment"
    venv.create(home, with_pip=False, symlinks=True)
    packages = next(home.glob("lib/python*/site-packages"))
    ignored = shutil.ignore_patterns("__pycache__", "_app")
    shutil.copytree(ROOT / "inspector", packages / "inspector", ignore=ignored)
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib"))
    command = [sys.executable, "-m", "mypy", "--strict", f"--python-executable={home / 'bin' / 'python'}"]
    completed = subprocess.run(
        [*command, str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert 'Revealed type is "inspector.capture.capture.Capture"' in completed.stdout, completed.stdout
    assert "Success" in completed.stdout, completed.stdout
