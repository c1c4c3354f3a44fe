"""The dependencies of the wheel are those of requirements.txt."""

from importlib.metadata import Distribution
from pathlib import Path

from tools.build_hook import Requirements, listed

ROOT = Path(__file__).parents[2]


def test_comments_are_left_out_and_the_rest_is_the_list() -> None:
    assert listed("# why\nfirst>=1,<2\n\nsecond>=3  # a reason\n") == ["first>=1,<2", "second>=3"]


def test_the_build_is_told_what_requirements_txt_names() -> None:
    metadata: dict[str, object] = {}
    Requirements(str(ROOT), {}).update(metadata)
    told = metadata["dependencies"]
    assert isinstance(told, list)
    assert "streamlit>=1.61,<2" in told
    names = [one.partition(">")[0] for one in told]
    assert all(Distribution.from_name(name).version for name in names)
