"""`skill`: it prints, it installs, and it never overwrites what somebody changed."""

from pathlib import Path

import pytest

from inspector.cli import main
from inspector.commands.skill import FOLDER, NAME, SOURCE

FILES = {path.relative_to(SOURCE): path.read_text("utf-8") for path in SOURCE.rglob("*.md")}


def installed(folder: Path) -> dict[Path, str]:
    return {path.relative_to(folder): path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()}


def test_it_prints_the_skill(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["skill"]) == 0
    assert capsys.readouterr().out == FILES[Path("SKILL.md")]


def test_it_installs_every_file_where_agents_look_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["skill", "--install"]) == 0
    *lines, hint = capsys.readouterr().out.splitlines()
    assert sorted(lines) == sorted(f"{FOLDER}/{NAME}/{path}: written" for path in FILES)
    assert hint == "Claude Code looks in .claude/skills: skill --install .claude/skills"
    assert installed(tmp_path / FOLDER / NAME) == FILES
    assert main(["skill", "--install", ".claude/skills"]) == 0
    assert installed(tmp_path / ".claude" / "skills" / NAME) == FILES


def test_a_changed_file_stays_and_nothing_else_is_written_until_forced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["skill", "--install", str(tmp_path)]) == 0
    changed, missing = tmp_path / NAME / "SKILL.md", tmp_path / NAME / "references" / "errors.md"
    changed.write_text("mine")
    missing.unlink()
    capsys.readouterr()
    assert main(["skill", "--install", str(tmp_path)]) == 2
    assert f"{changed} is not as this release has it" in capsys.readouterr().err
    assert changed.read_text() == "mine"
    assert not missing.exists()
    assert main(["skill", "--install", str(tmp_path), "--force"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"{changed}: replaced" in lines
    assert f"{missing}: written" in lines
    assert installed(tmp_path / NAME) == FILES


def test_a_second_installation_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["skill", "--install", str(tmp_path)])
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    capsys.readouterr()
    assert main(["skill", "--install", str(tmp_path)]) == 0
    assert all(line.endswith(": unchanged") for line in capsys.readouterr().out.splitlines())
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == times


def test_a_place_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["skill", "--install", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
