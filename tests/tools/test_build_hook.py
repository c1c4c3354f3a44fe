"""The dependencies of the wheel and its extras are those of the requirements files."""

from importlib.metadata import Distribution
from pathlib import Path

from tools.build_hook import EXTRAS, PAGES, Requirements, listed, shipped

ROOT = Path(__file__).parents[2]


def test_comments_are_left_out_and_the_rest_is_the_list(tmp_path: Path) -> None:
    (tmp_path / "base.txt").write_text("base>=0\n")
    (tmp_path / "more.txt").write_text("# why\n-r base.txt\nfirst>=1,<2\n\nsecond>=3  # a reason\n")
    assert listed(tmp_path / "more.txt") == ["base>=0", "first>=1,<2", "second>=3"]


def test_the_build_is_told_what_requirements_txt_names() -> None:
    metadata: dict[str, object] = {}
    Requirements(str(ROOT), {}).update(metadata)
    dependencies = metadata["dependencies"]
    assert isinstance(dependencies, list)
    assert "openai>=2,<4" in dependencies
    names = [requirement.partition(">")[0] for requirement in dependencies]
    assert all(Distribution.from_name(name).version for name in names)
    extras = metadata["optional-dependencies"]
    assert isinstance(extras, dict)
    assert set(extras) == {"ui", "scan", *EXTRAS}
    assert {requirement.partition(">")[0] for requirement in extras["ui"]} == set(PAGES)
    assert any(requirement.startswith("duckdb>=") for requirement in extras["ray"])
    assert not {requirement for extra in extras.values() for requirement in extra} & set(dependencies)


def test_the_wheel_has_the_captures_but_those_of_the_matrix() -> None:
    paths = {Path(path).relative_to(ROOT).as_posix() for path in shipped(ROOT)}
    assert "fixtures/index.toml" in paths
    assert any(path.startswith("fixtures/matrix/") and path.endswith(".json") for path in paths)
    assert not [path for path in paths if path.endswith(".zip")]
