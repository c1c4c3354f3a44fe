"""The dependencies of the wheel and its extras are those of the requirements files."""

from importlib.metadata import Distribution
from pathlib import Path

from tools.build_hook import EXTRAS, Requirements, listed

ROOT = Path(__file__).parents[2]


def test_comments_are_left_out_and_the_rest_is_the_list(tmp_path: Path) -> None:
    (tmp_path / "base.txt").write_text("base>=0\n")
    (tmp_path / "more.txt").write_text("# why\n-r base.txt\nfirst>=1,<2\n\nsecond>=3  # a reason\n")
    assert listed(tmp_path / "more.txt") == ["base>=0", "first>=1,<2", "second>=3"]


def test_the_build_is_told_what_requirements_txt_names() -> None:
    metadata: dict[str, object] = {}
    Requirements(str(ROOT), {}).update(metadata)
    told = metadata["dependencies"]
    assert isinstance(told, list)
    assert "streamlit>=1.61,<2" in told
    names = [one.partition(">")[0] for one in told]
    assert all(Distribution.from_name(name).version for name in names)
    extras = metadata["optional-dependencies"]
    assert isinstance(extras, dict)
    assert set(extras) == set(EXTRAS)
    assert any(one.startswith("duckdb>=") for one in extras["ray"])
    assert not {one for extra in extras.values() for one in extra} & set(told)
