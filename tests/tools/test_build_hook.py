"""Dependencies are those of the requirements files, and addresses are made of the one in publishing.toml."""

from importlib.metadata import Distribution
from pathlib import Path

import pytest

from tools.build_hook import EXTRAS, PAGES, Metadata, listed, readme, repository, shipped, urls

ROOT = Path(__file__).parents[2]


def test_comments_are_left_out_and_the_rest_is_the_list(tmp_path: Path) -> None:
    (tmp_path / "base.txt").write_text("base>=0\n")
    (tmp_path / "more.txt").write_text("# why\n-r base.txt\nfirst>=1,<2\n\nsecond>=3  # a reason\n")
    assert listed(tmp_path / "more.txt") == ["base>=0", "first>=1,<2", "second>=3"]


def test_the_build_is_told_what_requirements_txt_names() -> None:
    metadata: dict[str, object] = {}
    Metadata(str(ROOT), {}).update(metadata)
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


ADDRESS = "https://github.com/Some-Body/inspector.fork"


def test_without_a_repository_no_address_is_made_up() -> None:
    text = "![a](docs/a.png) [b](docs/b.md)"
    assert (urls(""), readme(text, "")) == ({}, text)
    metadata: dict[str, object] = {}
    Metadata(str(ROOT), {}).update(metadata)
    assert metadata["urls"] == urls(repository(ROOT))


def test_every_url_is_made_of_that_of_the_repository() -> None:
    assert urls(ADDRESS) == {
        "Documentation": "https://some-body.github.io/inspector.fork/",
        "Source": ADDRESS,
        "Issues": f"{ADDRESS}/issues",
        "Changelog": f"{ADDRESS}/blob/main/CHANGELOG.md",
    }


@pytest.mark.parametrize(
    "address", ["http://github.com/a/b", "https://github.com/a", f"{ADDRESS}/", "https://x.org/a/b", "a b"]
)
def test_another_form_of_address_ends_the_build(address: str, tmp_path: Path) -> None:
    (tmp_path / "publishing.toml").write_text(f'repository = "{address}"\n')
    with pytest.raises(ValueError, match=r"publishing\.toml"):
        repository(tmp_path)


def test_links_of_the_readme_lead_to_the_repository() -> None:
    files = f"{ADDRESS}/blob/main"
    for given, shown in {
        "![a](docs/a.png)": f"![a]({ADDRESS}/raw/main/docs/a.png)",
        "[b](docs/b.md#c)": f"[b]({files}/docs/b.md#c)",
        "[![f](f.png)](f.md)": f"[![f]({ADDRESS}/raw/main/f.png)]({files}/f.md)",
        "[c](https://x.org/d) [d](#e)": "[c](https://x.org/d) [d](#e)",
    }.items():
        assert readme(given, ADDRESS) == shown
    own = readme((ROOT / "README.md").read_text("utf-8"), ADDRESS)
    assert "](docs/" not in own
    assert f"]({ADDRESS}/raw/main/docs/screenshots/" in own
