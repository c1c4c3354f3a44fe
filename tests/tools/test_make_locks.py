"""The locks hold what the requirements ask for, with a hash for everything."""

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.make_locks import LOCKS, pins

ROOT = Path(__file__).parents[2]


def asked(file: str) -> list[Requirement]:
    lines = [line.strip() for line in (ROOT / file).read_text("utf-8").splitlines()]
    requirements = [Requirement(line) for line in lines if line and not line.startswith(("#", "-r", "-e"))]
    for line in lines:
        if line.startswith("-r "):
            requirements += asked(line.removeprefix("-r "))
    return requirements


@pytest.mark.parametrize("file", LOCKS)
def test_every_requirement_is_locked_within_its_range(file: str) -> None:
    locked = pins((ROOT / LOCKS[file]).read_text("utf-8"))
    wrong = [
        str(requirement)
        for requirement in asked(file)
        if not locked.get(canonicalize_name(requirement.name))
        or not all(
            requirement.specifier.contains(version) for version in locked[canonicalize_name(requirement.name)]
        )
    ]
    assert wrong == [], "run python -m tools.make_locks"


@pytest.mark.parametrize("lock", LOCKS.values())
def test_every_locked_package_has_a_hash_and_no_address(lock: str) -> None:
    text = (ROOT / lock).read_text("utf-8")
    blocks = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(blocks) == sum(map(len, pins(text).values()))
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []
    assert "://" not in text
    assert "-index-url" not in text


def test_what_is_tested_is_what_is_released() -> None:
    released, tested = (pins((ROOT / lock).read_text("utf-8")) for lock in LOCKS.values())
    assert {name: tested[name] for name in released} == released
